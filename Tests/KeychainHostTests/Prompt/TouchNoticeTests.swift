import KeychainModel
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
}
