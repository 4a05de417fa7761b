import SystemCrypto
import TestSupport
import Testing

@testable import KeychainHost

@Suite struct NewKeyNoticeTests {
    @Test func `A person is told of a key that takes long, and what an end of the wait leaves`() {
        let person = TypesInTurn()
        let notice = NewKeyNotice(.rsa(bits: 4096), in: "1", of: "card", person)
        let isTold = eventually { !person.messages.isEmpty }
        notice.end()
        #expect(isTold)
        #expect(
            person.messages == [
                "'card' makes a key (RSA 4096) in slot 1, which can take minutes. It goes on where this program is ended: "
                    + "'tokenctl card info' tells then whether the slot has the new key. Where the card is taken out, the slot has none."
            ])
    }

    @Test func `A key that is made at once is not told of`() {
        let (person, slower) = (TypesInTurn(), TypesInTurn())
        let notice = NewKeyNotice(.ecP256, in: "1", of: "card", person)
        notice.end()
        // The message of a later key has had its time.
        let later = NewKeyNotice(.ecP256, in: "1", of: "card", slower)
        let isTold = eventually { !slower.messages.isEmpty }
        later.end()
        #expect(isTold)
        #expect(person.messages.isEmpty)
    }
}
