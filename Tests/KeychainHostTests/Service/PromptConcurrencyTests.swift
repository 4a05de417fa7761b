import Foundation
import HostAPI
import ItemDictionaries
import PIVDriver
import SecureBytes
import Synchronization
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel

/// A program has two threads: while a person types the PIN that one waits for, the other signs with another key of the same card.
///
/// PKCS11BridgeTests/QuestionTests tests the same for the module.
@Suite struct PromptConcurrencyTests {
    /// The work of the second thread while the person types. It is given up after 20 s, so that a host that waits for the person
    /// fails the test and does not hang it.
    private final class SecondThread: Sendable {
        private let work = Mutex<(@Sendable () throws -> [UInt8])?>(nil)
        private let result = Mutex<[UInt8]?>(nil)

        /// The signature; nil if it was not made before the person had typed.
        var signature: [UInt8]? { result.withLock { $0 } }

        func prepare(_ body: @escaping @Sendable () throws -> [UInt8]) { work.withLock { $0 = body } }

        func run() {
            guard let body = work.withLock({ $0 }) else { return }
            let signed = Mutex<[UInt8]?>(nil)
            let finished = DispatchGroup()
            Thread.detached(in: finished) {
                let signature = try? body()
                signed.withLock { $0 = signature }
            }
            guard finished.wait(timeout: .now() + 20) == .success else { return }
            result.withLock { $0 = signed.withLock { $0 } }
        }
    }

    /// The path of the command and of all clients of the host.
    @Test(arguments: ServiceRoute.allCases) func theHostSignsForAnotherRequest(route: ServiceRoute) throws {
        let other = SecondThread()
        let stage = try ServiceStage(route, person: TypesInTurn("123456") { other.run() })
        let request = KeyRequest(
            .sign(ServiceStage.digest), ServiceStage.algorithm,
            with: try stage.identity(.cardAuthentication).key.reference)
        other.prepare { [service = stage.service] in
            try service.perform(request, RequestContext()).secret.copiedBytes
        }
        #expect(try stage.isSignature(try stage.sign()))
        #expect(try stage.isSignature(try #require(other.signature), of: .cardAuthentication))
        #expect(stage.person.requests.count == 1)
        #expect(stage.pinsSent == 1)
    }

    /// The path of `SecKeyCreateSignature`: a session for each call, over the keychains of the process.
    @Test func aSessionOfSecItemSignsForAnotherThread() throws {
        let other = SecondThread()
        let user = try TestUser()
        let reader = VirtualReader(card: try TestCard().make())
        let process = ProcessKeychains(
            user.preferences,
            drivers: { [PIVDriver(memory: $0.tokens, certificates: $0.certificates, rejectedPINs: $0.rejectedPINs)] },
            readers: { [reader] })
        let person = TypesInTurn("123456") { other.run() }
        @Sendable func sign(_ slot: CardKeyReference) throws -> [UInt8] {
            let session = try process.present().session(authentication: process.authentication(person))
            let hash = try TestCard().key(slot).publicKey.keyHash
            let query: ItemDictionary = [
                "class": .string("keys"), "klbl": .data(hash), "r_Ref": .bool(true),
            ]
            guard case .reference(.item(let item))? = try session.copyMatching(query).found else {
                throw KeychainError(.itemNotFound)
            }
            return try session.key(of: item).sign(
                ServiceStage.digest, using: ServiceStage.algorithm, use: "sign",
                authentication: process.authentication(person))
        }
        other.prepare { try sign(.cardAuthentication) }
        let signature = try sign(.authentication)
        for (slot, signature) in [
            (CardKeyReference.authentication, signature), (.cardAuthentication, try #require(other.signature)),
        ] {
            #expect(
                try TestCard().key(slot).publicKey.verify(
                    signature, of: ServiceStage.digest, using: ServiceStage.algorithm))
        }
        #expect(person.requests.count == 1)
    }
}
