import CCryptoki
import HostAPI
import KeychainHost
import KeychainModel
import SecureBytes
import Synchronization
import SystemCrypto
import TestSupport
import Testing
import VirtualCard

@testable import PKCS11Bridge

/// A person who gives no PIN to a module that asks by itself.
@Suite struct CancelingTests {
    /// Cancels every question, and counts them.
    private final class Decliner: Prompter {
        let questions = Atomic(0)
        var canAsk: Bool { true }
        var canAskAgain: Bool { true }

        func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
            questions.add(1, ordering: .relaxed)
            throw KeychainError(.userCanceled)
        }

        func confirm(_ question: String) throws(KeychainError) -> Bool { false }
    }

    private let decliner = Decliner()
    private let module: TestModule
    private let session: CK_SESSION_HANDLE

    init() throws {
        module = try TestModule(
            VirtualReader(card: try Cards.plain()), promptPolicy: PromptPolicy(asksItself: true, prompter: decliner))
        session = try module.session()
    }

    private func sign(_ id: UInt8, _ digest: UInt8) -> CK_RV {
        returned {
            _ = try module.sign(
                session, MechanismRequest(CKM_ECDSA), module.key(session, [id]), [UInt8](repeating: digest, count: 32))
        }
    }

    private var questions: Int { decliner.questions.load(ordering: .relaxed) }

    @Test func theSameIsNotAskedAgainAtOnce() {
        for _ in 0..<3 { #expect(sign(1, 1) == CKR_FUNCTION_CANCELED) }
        #expect(questions == 1)
        #expect(module.reader.pinsSent == 0)
    }

    @Test func anotherKeyOrOtherDataIsAnotherQuestion() {
        for (id, digest) in [(1, 1), (2, 1), (1, 2)] as [(UInt8, UInt8)] {
            #expect(sign(id, digest) == CKR_FUNCTION_CANCELED)
        }
        #expect(questions == 3)
    }

    @Test func whoBeginsAnewLaterIsAsked() async throws {
        #expect(sign(1, 1) == CKR_FUNCTION_CANCELED)
        try await Task.sleep(for: .seconds(1.1))
        #expect(sign(1, 1) == CKR_FUNCTION_CANCELED)
        #expect(questions == 2)
    }
}
