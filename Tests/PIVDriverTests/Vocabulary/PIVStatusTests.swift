import SecureBytes
import Testing
import TokenKit

@testable import PIVDriver

@Suite struct PIVStatusTests {
    @Test(
        arguments: [
            (0x63C5, 5), (0x63C0, 0), (0x6305, 5), (0x630F, 15), (0x6300, nil), (0x6983, 0), (0x9000, nil),
            (0x63A5, nil),
        ] as [(UInt16, Int?)])
    func triesAreReadInEveryWayCardsTellThem(status: UInt16, tries: Int?) {
        #expect(StatusWord(rawValue: status).triesLeft == tries)
    }

    @Test(
        arguments: [
            (0x6982, .pinRequired), (0x6983, .pinBlocked), (0x63C2, .malformed), (0x6300, .malformed),
            (0x6985, .conditionsNotSatisfied), (0x6A82, .notFound), (0x6A88, .notFound), (0x6A84, .storage),
            (0x6581, .storage), (0x6A80, .unsupported), (0x6A81, .unsupported), (0x6D00, .unsupported),
            (0x6700, .unsupported), (0x6882, .unsupported), (0x6987, .unsupported), (0x6F00, .malformed),
            (0x6F42, .malformed),
        ] as [(UInt16, TokenError.Code)])
    func eachStatusHasItsError(status: UInt16, code: TokenError.Code) {
        let error = TokenError(StatusWord(rawValue: status), "do it")
        #expect(error.code == code)
        #expect(error.status?.rawValue == status)
        #expect(error.reason.hasPrefix("cannot do it: "))
    }

    /// If another application had judged the PIN, sending the PIN again would cost a second try.
    @Test func noAnswerThatJudgesAPINIsTakenForAnotherApplications() {
        for number in UInt16.min...UInt16.max {
            let status = StatusWord(rawValue: number)
            guard status.isWrongPIN || status.triesLeft != nil || status.isSuccess else { continue }
            #expect(!status.mayComeFromAnotherApplication, "\(status)")
        }
    }

    @Test func everyStatusHasAnError() {
        for number in UInt16.min...UInt16.max {
            #expect(!TokenError(StatusWord(rawValue: number), "x").reason.isEmpty)
        }
    }

    @Test(
        arguments: [(0x63C2, "2 tries"), (0x63C1, "one try"), (0x63C0, "no try"), (0x6300, "wrong")]
            as [(UInt16, String)])
    func aRefusedValueSaysWhatIsLeft(status: UInt16, words: String) {
        let error = TokenError.incorrect(StatusWord(rawValue: status), .pin)
        #expect(error.code == .pinIncorrect)
        #expect(error.reason.hasPrefix("wrong PIN"))
        #expect(error.reason.contains(words))
        #expect(TokenError.incorrect(StatusWord(rawValue: status), .unblockingKey).reason.hasPrefix("wrong PUK"))
    }

    @Test func blockedValuesSayWhatToDo() {
        #expect(TokenError.blocked(.pin).reason.contains("with the PUK"))
        #expect(TokenError.blocked(.unblockingKey).reason.contains("reset the card"))
        #expect(TokenError.blocked(.pin).triesLeft == 0)
    }
}
