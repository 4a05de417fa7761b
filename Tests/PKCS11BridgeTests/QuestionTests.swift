import CCryptoki
import CryptokiNames
import Dispatch
import Foundation
import HostAPI
import KeychainHost
import KeychainModel
import SecureBytes
import Synchronization
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import PKCS11Bridge

/// A person may take long to answer a question: all other calls go on meanwhile.
@Suite struct QuestionTests {
    /// A person who answers when the test says so.
    private final class SlowTypist: Prompter {
        private let answers: [String]
        private let requests = Mutex<[PromptRequest]>([])
        private let asked = DispatchSemaphore(value: 0)
        private let mayAnswer = DispatchSemaphore(value: 0)

        init(_ answers: String...) { self.answers = answers }

        var canAsk: Bool { true }
        var canAskAgain: Bool { true }
        var questions: [PromptRequest] { requests.withLock { $0 } }

        func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
            let number = requests.withLock { requests in
                requests.append(request)
                return requests.count - 1
            }
            asked.signal()
            mayAnswer.wait()
            return .of(answers[min(number, answers.count - 1)])
        }

        func confirm(_ question: String) throws(KeychainError) -> Bool { false }

        func waitForQuestion() { asked.wait() }
        func answer() { mayAnswer.signal() }

        /// Answers a number of questions, each once it is asked.
        func answer(questions count: Int) {
            for _ in 0..<count {
                waitForQuestion()
                answer()
            }
        }
    }

    /// A call on a thread of its own.
    private final class Call: Sendable {
        private let code = Mutex<CK_RV>(CKR_GENERAL_ERROR)
        private let end = DispatchSemaphore(value: 0)

        init(_ body: @escaping @Sendable () throws -> Void) {
            Thread { [self] in
                let result = returned { try body() }
                code.withLock { $0 = result }
                end.signal()
            }.start()
        }

        /// The return value, once the call has returned.
        var result: CK_RV {
            end.wait()
            return code.withLock { $0 }
        }
    }

    private static let ecdsa = MechanismRequest(CKM_ECDSA)
    private static let digest = [UInt8](repeating: 0x5A, count: 32)

    private func module(_ typist: SlowTypist, _ reader: VirtualReader? = nil) throws -> TestModule {
        try TestModule(
            reader ?? VirtualReader(card: Cards.plain()), promptPolicy: PromptPolicy(prompter: typist))
    }

    @Test func anotherKeyOfTheCardSignsWhileThePINIsAskedFor() throws {
        let typist = SlowTypist("123456")
        let module = try module(typist)
        let (asking, signing) = (try module.session(), try module.session())
        let login = Call { try module.cryptoki.logIn(asking, CKU_USER, pin: nil) }
        typist.waitForQuestion()
        // 9E needs no PIN.
        #expect(try module.sign(signing, Self.ecdsa, module.key(signing, [4]), Self.digest).count == 64)
        #expect(try module.cryptoki.sessionInfo(signing).state == CKS_RW_PUBLIC_SESSION)
        #expect(try module.cryptoki.tokenInfo(module.slots[0]).flags & CKF_LOGIN_REQUIRED != 0)
        typist.answer()
        #expect(login.result == CKR_OK)
        #expect(try module.cryptoki.sessionInfo(signing).state == CKS_RW_USER_FUNCTIONS)
    }

    @Test func otherKeysSignWhileThePINForOneUseIsAskedFor() throws {
        let typist = SlowTypist("123456")
        let module = try module(typist)
        let (asking, signing) = (try module.session(loggedIn: true), try module.session())
        try module.cryptoki.signInit(asking, Self.ecdsa, key: module.key(asking, [2]))
        let login = Call { try module.cryptoki.logIn(asking, CKU_CONTEXT_SPECIFIC, pin: nil) }
        typist.waitForQuestion()
        #expect(try module.sign(signing, Self.ecdsa, module.key(signing, [4]), Self.digest).count == 64)
        #expect(try module.cryptoki.sessionInfo(asking).state == CKS_RW_USER_FUNCTIONS)
        typist.answer()
        #expect(login.result == CKR_OK)
        #expect(try bytes(of: module.cryptoki.sign(asking, Self.digest, .bytes(64))).count == 64)
    }

    @Test func whatWasBegunMayEndWhileThePINForItIsAskedFor() throws {
        let typist = SlowTypist("123456")
        let card = try Cards.plain()
        let module = try module(typist, VirtualReader(card: card))
        let session = try module.session(loggedIn: true)
        try module.cryptoki.signInit(session, Self.ecdsa, key: module.key(session, [2]))
        let login = Call { try module.cryptoki.logIn(session, CKU_CONTEXT_SPECIFIC, pin: nil) }
        typist.waitForQuestion()
        try module.cryptoki.logOut(session)
        typist.answer()
        #expect(login.result == CKR_USER_NOT_LOGGED_IN)
        #expect(!isVerified(card))
    }

    /// Whether the card counts the PIN as presented.
    private func isVerified(_ card: VirtualCard) -> Bool {
        #expect(card.process([0x00, 0xA4, 0x04, 0x00, 0x05, 0xA0, 0x00, 0x00, 0x03, 0x08]).suffix(2) == [0x90, 0x00])
        return card.process([0x00, 0x20, 0x00, 0x80]) == [0x90, 0x00]
    }

    @Test func aSessionThatIsClosedMeanwhileLogsNobodyIn() throws {
        let typist = SlowTypist("123456")
        let card = try Cards.plain()
        let module = try module(typist, VirtualReader(card: card))
        let session = try module.session()
        let login = Call { try module.cryptoki.logIn(session, CKU_USER, pin: nil) }
        typist.waitForQuestion()
        try module.cryptoki.closeSession(session)
        let other = try module.session()
        typist.answer()
        #expect(login.result == CKR_SESSION_CLOSED)
        #expect(!isVerified(card))
        #expect(try module.cryptoki.sessionInfo(other).state == CKS_RW_PUBLIC_SESSION)
        #expect(try module.cryptoki.sessionInfo(module.session()).state == CKS_RW_PUBLIC_SESSION)
    }

    /// The other threads find the card with the PIN.
    @Test func threadsThatSignTogetherHaveThePersonAskedOnce() throws {
        let typist = SlowTypist("123456")
        let policy = PromptPolicy(asksItself: true, prompter: typist)
        let module = try TestModule(VirtualReader(card: Cards.plain()), promptPolicy: policy)
        let sessions = try (0..<4).map { _ in try module.session() }
        let key = try module.key(sessions[0], [1])
        let signatures = sessions.map { session in
            Call { _ = try module.sign(session, Self.ecdsa, key, Self.digest) }
        }
        typist.waitForQuestion()
        // The others come while the person types, and wait.
        usleep(200_000)
        #expect(typist.questions.count == 1)
        typist.answer()
        #expect(signatures.map(\.result) == [CK_RV](repeating: CKR_OK, count: 4))
        #expect(typist.questions.count == 1)
    }

    @Test func threadsThatLogInTogetherHaveThePersonAskedOnce() throws {
        let typist = SlowTypist("123456")
        let module = try module(typist)
        let sessions = try (0..<4).map { _ in try module.session() }
        let logins = sessions.map { session in Call { try module.cryptoki.logIn(session, CKU_USER, pin: nil) } }
        typist.waitForQuestion()
        typist.answer()
        let results = logins.map(\.result)
        #expect(results.count { $0 == CKR_OK } == 1)
        #expect(results.count { $0 == CKR_USER_ALREADY_LOGGED_IN } == 3)
        #expect(typist.questions.count == 1)
        #expect(module.reader.pinsSent == 1)
    }

    @Test func aPINThatAProgramBringsMeanwhileEndsTheQuestion() throws {
        let typist = SlowTypist("123456")
        let module = try module(typist)
        let (asking, other) = (try module.session(), try module.session())
        let login = Call { try module.cryptoki.logIn(asking, CKU_USER, pin: nil) }
        typist.waitForQuestion()
        try module.cryptoki.logIn(other, CKU_USER, pin: .of("123456"))
        typist.answer()
        #expect(login.result == CKR_USER_ALREADY_LOGGED_IN)
    }

    @Test func aWrongAnswerIsFollowedByAnotherQuestionWithTheTriesThatAreLeft() throws {
        let typist = SlowTypist("111111", "123456")
        let module = try module(typist)
        let session = try module.session()
        let login = Call { try module.cryptoki.logIn(session, CKU_USER, pin: nil) }
        typist.answer(questions: 2)
        #expect(login.result == CKR_OK)
        #expect(typist.questions.map(\.triesLeft) == [3, 2])
        #expect(typist.questions.map { $0.failure != nil } == [false, true])
        #expect(module.reader.pinsSent == 2)
    }

    @Test func theLastTryIsNotSpentWhereThePersonDoesNotAgree() throws {
        let typist = SlowTypist("111111", "222222", "333333")
        let module = try module(typist)
        let session = try module.session()
        let login = Call { try module.cryptoki.logIn(session, CKU_USER, pin: nil) }
        typist.answer(questions: 2)
        #expect(login.result == CKR_PIN_LOCKED)
        #expect(module.reader.pinsSent == 2)
    }

    @Test func anotherCardThatComesDuringTheQuestionIsNotSentThePIN() throws {
        let typist = SlowTypist("123456")
        let reader = VirtualReader(card: try Cards.plain())
        let module = try module(typist, reader)
        let session = try module.session()
        let login = Call { try module.cryptoki.logIn(session, CKU_USER, pin: nil) }
        typist.waitForQuestion()
        reader.insert(try Cards.plain())
        typist.answer()
        #expect(login.result == CKR_DEVICE_REMOVED)
        #expect(reader.pinsSent == 0)
    }

    @Test func aProgramEndsWhileThePINIsAskedFor() throws {
        let typist = SlowTypist("123456")
        let module = try module(typist)
        let session = try module.session()
        let login = Call { try module.cryptoki.logIn(session, CKU_USER, pin: nil) }
        typist.waitForQuestion()
        module.cryptoki.finalize()
        typist.answer()
        #expect(login.result != CKR_OK)
        #expect(module.reader.pinsSent == 0)
    }

    @Test func aKeychainIsReadWhileItsPasswordIsAskedFor() throws {
        let typist = SlowTypist("wrong", "open")
        let module = try TestModule(promptPolicy: PromptPolicy(prompter: typist))
        _ = try module.keychain()
        let (asking, reading) = (try module.session(), try module.session())
        let logins = [asking, asking].map { session in Call { try module.cryptoki.logIn(session, CKU_USER, pin: nil) } }
        typist.waitForQuestion()
        #expect(try module.find(reading, (CKA_CLASS, Encoded.ulong(CKO_CERTIFICATE))).isEmpty)
        typist.answer()
        typist.waitForQuestion()
        typist.answer()
        #expect(Set(logins.map(\.result)) == [CKR_OK, CKR_USER_ALREADY_LOGGED_IN])
        #expect(typist.questions.count == 2)
    }
}
