import HostAPI
import KeychainModel
import SecureBytes
import Synchronization
import TestSupport
import Testing

@testable import KeychainHost

@Suite struct TouchNoticeTests {
    @Test func `A person is told to touch the card where its key waits for that`() {
        let (untouched, answered, told) = (TypesInTurn(), TypesInTurn(), TypesInTurn())
        let never = TouchNotice(.never, of: "card", untouched)
        let early = TouchNotice(.expected, of: "card", answered)
        early.end()
        let notice = TouchNotice(.expected, of: "card", told)
        let isTold = eventually { !told.messages.isEmpty }
        notice.end()
        never.end()
        #expect(isTold)
        #expect(told.messages == ["Touch the card now: 'card' waits for it."])
        #expect(untouched.messages.isEmpty)
        #expect(answered.messages.isEmpty)
    }

    @Test func `A card that does not tell whether it waits for a touch is given a second`() {
        let person = TypesInTurn()
        let start = ContinuousClock.now
        let notice = TouchNotice(.unknown, of: "card", person)
        let isTold = eventually { !person.messages.isEmpty }
        notice.end()
        #expect(isTold)
        #expect(ContinuousClock.now - start >= .seconds(1))
        #expect(person.messages == ["Touch the card now if it blinks: 'card' has not answered yet."])
    }

    @Test func `A message stays until the card has answered`() {
        let window = Window()
        let notice = TouchNotice(.expected, of: "card", window)
        let isShown = eventually { window.messages == ["Touch the card now: 'card' waits for it."] }
        #expect(isShown)
        notice.end()
        let isHidden = eventually { window.messages.isEmpty }
        #expect(isHidden)
    }

    /// Shows messages until they are over.
    private final class Window: Prompter {
        private let shown = Mutex<[String]>([])
        var messages: [String] { shown.withLock { $0 } }
        var canAsk: Bool { false }
        var canAskAgain: Bool { false }

        func ask(_ request: PromptRequest) throws(KeychainError) -> Secret { throw KeychainError(.userCanceled) }
        func confirm(_ question: String) throws(KeychainError) -> Bool { false }

        func show(_ message: String) -> (@Sendable () -> Void)? {
            shown.withLock { $0.append(message) }
            return { self.shown.withLock { $0.removeAll { $0 == message } } }
        }
    }
}
