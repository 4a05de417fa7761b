import SecureBytes
import TestSupport
import Testing

@testable import TokenKit

/// An event of a PIN, as the driver or the slot reports it to the session.
private enum Event: Sendable {
    case transaction(epoch: Int)
    case told(PINSession.Tries)
    case sending
    case sendingAnother
    case accepted(StaticString)
    case refused(StaticString, Int?)
    case refusedTyped(Int?)
    case blocked
    case replaced(StaticString)
    case reset
    case notPresented
}

extension PINSession {
    fileprivate init(_ kind: PINKind = .pin, after events: [Event]) {
        self.init()
        for event in events { take(event, kind) }
    }

    fileprivate mutating func take(_ event: Event, _ kind: PINKind = .pin) {
        switch event {
        case .transaction(let epoch): beginTransaction(epoch: epoch)
        case .told(let tries): learn(tries, of: kind)
        case .sending: sending(kind)
        case .sendingAnother: sendingAnother()
        case .accepted(let pin): accepted(PIN(pin), as: kind)
        case .refused(let pin, let triesLeft): refused(PIN(pin), as: kind, triesLeft: triesLeft)
        case .refusedTyped(let triesLeft): refused(.typed, as: kind, triesLeft: triesLeft)
        case .blocked: blocked(kind)
        case .replaced(let pin): replaced(kind, by: PIN(pin))
        case .reset: forgetPresented()
        case .notPresented: notPresented()
        }
    }

    /// - Parameter text: nil for a PIN that is typed on the reader.
    fileprivate func asks(for text: StaticString?, _ kind: PINKind = .pin) -> Bool {
        text.map { wantsTries(of: kind, for: PIN($0)) } ?? wantsTries(of: kind, for: .typed)
    }

    fileprivate func justPresented(_ text: StaticString?) -> Bool {
        text.map { hasJustPresented(PIN($0)) } ?? hasJustPresented(.typed)
    }

    /// The reason for which no try may be spent on the value; nil if one may be.
    fileprivate func refusal(
        _ pin: StaticString, _ kind: PINKind = .pin, _ lastTry: LastTry = .keep, _ others: RejectedPINs? = nil
    ) -> TokenError.Code? {
        do throws(TokenError) {
            try requireTry(PIN(pin), as: kind, lastTry, rejectedElsewhere: others)
            return nil
        } catch {
            return error.code
        }
    }
}

/// Whether a value may be sent, after a number of events.
@Suite struct PINSessionTryTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        fileprivate let events: [Event]
        /// The reason for which "111111" is not sent; nil if it is.
        let refusal: TokenError.Code?
        var lastTry = LastTry.keep
    }

    static let rows = [
        Row(testDescription: "nothing is known", events: [], refusal: nil),
        Row(testDescription: "two tries are left", events: [.told(.left(2))], refusal: nil),
        Row(testDescription: "one try is left", events: [.told(.left(1))], refusal: .pinLastTry),
        Row(testDescription: "one try is left, to be spent", events: [.told(.left(1))], refusal: nil, lastTry: .spend),
        Row(testDescription: "no try is left", events: [.told(.left(0))], refusal: .pinBlocked),
        Row(testDescription: "no try is left to spend", events: [.blocked], refusal: .pinBlocked, lastTry: .spend),
        Row(testDescription: "refused", events: [.refused("111111", 2)], refusal: .pinKnownIncorrect),
        Row(testDescription: "another was refused", events: [.refused("222222", 2)], refusal: nil),
        Row(
            testDescription: "refused, and another too", events: [.refused("111111", 2), .refused("222222", 1)],
            refusal: .pinKnownIncorrect),
        Row(
            testDescription: "refused before the last try, to be spent",
            events: [.refused("111111", 2), .refused("222222", 1)], refusal: .pinKnownIncorrect, lastTry: .spend),
        Row(
            testDescription: "refused before a reset", events: [.refused("111111", 2), .reset],
            refusal: .pinKnownIncorrect),
        Row(
            testDescription: "refused before another epoch",
            events: [.transaction(epoch: 0), .refused("111111", 2), .transaction(epoch: 1)],
            refusal: .pinKnownIncorrect),
        Row(
            testDescription: "refused before the right one", events: [.refused("111111", 2), .accepted("123456")],
            refusal: nil),
        Row(
            testDescription: "refused before a new one", events: [.refused("111111", 2), .replaced("654321")],
            refusal: nil),
        Row(
            testDescription: "refused, and more tries are told", events: [.refused("111111", 2), .told(.left(3))],
            refusal: nil),
        Row(
            testDescription: "refused, and another leaves as many tries",
            events: [.refused("111111", 2), .refused("222222", 2)], refusal: nil),
        Row(
            testDescription: "refused, and a typed one leaves as many tries",
            events: [.refused("111111", 2), .refusedTyped(2)], refusal: nil),
        Row(
            testDescription: "refused without a count, before the right one",
            events: [.refused("111111", nil), .refused("222222", nil), .accepted("123456")],
            refusal: .pinKnownIncorrect),
        Row(
            testDescription: "refused without a count, before a new one",
            events: [.refused("111111", nil), .replaced("654321")], refusal: nil),
        Row(
            testDescription: "another was right with one try left", events: [.told(.left(1)), .accepted("123456")],
            refusal: nil),
    ]

    @Test(arguments: rows, [PINKind.pin, .unblockingKey])
    func whatHappenedTellsWhetherAValueIsSent(row: Row, kind: PINKind) {
        let session = PINSession(kind, after: row.events)
        #expect(session.refusal("111111", kind, row.lastTry) == row.refusal)
        // Nothing is known of the other kind of secret.
        #expect(session.refusal("111111", kind == .pin ? .unblockingKey : .pin) == nil)
    }

    @Test func errorsTellTheTries() {
        let session = PINSession(after: [.refused("111111", 2)])
        let error = #expect(throws: TokenError(.pinKnownIncorrect, "")) {
            try session.requireTry(PIN("111111"), as: .pin, .keep)
        }
        #expect(error?.triesLeft == 2)
        #expect(error?.status == nil)
    }

    @Test func whatOtherProgramsHadRefusedIsNotSent() throws {
        var others = try #require(RejectedPINs())
        others.insert(PIN("111111"), as: .pin, triesLeft: 2)
        for events in [[], [.told(.left(2))], [.told(.left(1))]] as [[Event]] {
            #expect(PINSession(after: events).refusal("111111", .pin, .spend, others) == .pinKnownIncorrect)
        }
        for events in [[.told(.left(3))], [.accepted("123456")]] as [[Event]] {
            #expect(PINSession(after: events).refusal("111111", .pin, .spend, others) == nil)
        }
        // The fewest tries that other programs saw count if this one does not know the tries.
        others.insert(PIN("222222"), as: .pin, triesLeft: 1)
        #expect(PINSession().refusal("333333", .pin, .keep, others) == .pinLastTry)
        #expect(PINSession(after: [.told(.left(3))]).refusal("333333", .pin, .keep, others) == nil)
    }
}

/// The session's assumptions about the PIN and its tries.
@Suite struct PINSessionTests {
    @Test func nothingIsBelievedAtFirst() {
        let session = PINSession()
        #expect(!session.isPresented)
        #expect(session.tries(of: .pin) == .unknown)
        #expect(!session.logoutPending)
    }

    struct Presence: CustomTestStringConvertible, Sendable {
        let testDescription: String
        fileprivate let events: [Event]
        let isPresented: Bool
        let tries: PINSession.Tries
    }

    @Test(arguments: [
        Presence(testDescription: "sent", events: [.told(.left(1)), .sending], isPresented: false, tries: .unknown),
        Presence(
            testDescription: "accepted", events: [.told(.left(1)), .sending, .accepted("123456")], isPresented: true,
            tries: .all),
        Presence(
            testDescription: "sent again", events: [.accepted("123456"), .sending], isPresented: false, tries: .unknown),
        Presence(
            testDescription: "refused", events: [.accepted("123456"), .sending, .refused("111111", 2)],
            isPresented: false, tries: .left(2)),
        Presence(
            testDescription: "in the next transaction",
            events: [.transaction(epoch: 0), .accepted("123456"), .transaction(epoch: 0)], isPresented: true,
            tries: .all
        ),
        Presence(
            testDescription: "in another epoch",
            events: [.transaction(epoch: 0), .accepted("123456"), .transaction(epoch: 1)], isPresented: false,
            tries: .unknown),
        Presence(testDescription: "reset", events: [.accepted("123456"), .reset], isPresented: false, tries: .unknown),
        Presence(
            testDescription: "taken back", events: [.accepted("123456"), .notPresented], isPresented: false, tries: .all
        ),
        Presence(testDescription: "replaced", events: [.replaced("123456")], isPresented: false, tries: .all),
    ])
    func theCardsAnswersTellWhetherThePINIsPresented(_ row: Presence) {
        let session = PINSession(after: row.events)
        #expect(session.isPresented == row.isPresented)
        #expect(session.tries(of: .pin) == row.tries)
    }

    @Test func anUnblockingKeyPresentsNothingAndTakesNothingBack() {
        var session = PINSession(.unblockingKey, after: [.accepted("12345678")])
        #expect(!session.isPresented)
        session.take(.accepted("123456"))
        session.take(.sending, .unblockingKey)
        #expect(session.isPresented)
    }

    @Test func onlyAFullCountIsBelievedInTheNextTransaction() {
        var session = PINSession()
        #expect(session.asks(for: "123456"))
        session.take(.told(.left(2)))
        #expect(!session.asks(for: "123456"))
        session.take(.transaction(epoch: 0))
        #expect(session.asks(for: "123456"))
        #expect(session.triesLeft(of: .pin) == 2)
        session.take(.accepted("123456"))
        session.take(.transaction(epoch: 0))
        #expect(!session.asks(for: "123456"))
    }

    @Test func aFullCountIsBelievedForTheValueThatWasRightAndForNoOther() {
        var session = PINSession(after: [.accepted("123456")])
        #expect(!session.asks(for: "123456"))
        #expect(session.asks(for: "111111"))
        #expect(session.asks(for: nil))
        #expect(session.asks(for: "123456", .unblockingKey))
        session.take(.replaced("654321"))
        #expect(!session.asks(for: "654321"))
        #expect(session.asks(for: "123456"))
        session.accepted(.typed, as: .pin)
        #expect(session.asks(for: nil))
    }

    @Test func onlyTheLastCommandHasJustPresentedAPIN() {
        var session = PINSession(after: [.accepted("123456")])
        #expect(session.justPresented("123456"))
        #expect(!session.justPresented("111111"))
        #expect(!session.justPresented(nil))
        for event in [.sendingAnother, .sending, .reset, .notPresented] as [Event] {
            var other = session
            other.take(event)
            #expect(!other.justPresented("123456"))
        }
        session.accepted(.typed, as: .pin)
        #expect(!session.justPresented(nil))
    }
}

/// The time for which a presented PIN counts.
@Suite final class PINSessionTermTests {
    private let start = ContinuousClock.now
    private var session = PINSession(after: [.accepted("123456")])

    /// - Parameter seconds: the time after the start, as in all functions here.
    private func begin(until seconds: Int?, unused: Int? = nil) -> Bool {
        session.beginTerm(
            PINLimits(total: seconds.map { .seconds($0) }, unused: unused.map { .seconds($0) }), at: start)
    }
    private func end(at seconds: Int) -> Bool { session.endTerm(at: start + .seconds(seconds)) }
    private func rest(at seconds: Int) -> Duration? { session.rest(at: start + .seconds(seconds)) }

    @Test func aTermBeginsWithTheFirstPresentation() {
        #expect(!PINSession().wantsTerm)
        #expect(session.wantsTerm)
        #expect(begin(until: 300))
        // Neither a reset of the card nor another presentation renews the term.
        for event in [.reset, .accepted("123456")] as [Event] {
            session.take(event)
            #expect(!session.wantsTerm)
        }
        #expect(rest(at: 100) == .seconds(200))
    }

    @Test func aTermThatIsOverBringsALogout() {
        #expect(begin(until: 300))
        #expect(!end(at: 299))
        #expect(!session.logoutPending)
        #expect(end(at: 300))
        #expect(session.logoutPending)
        #expect(!end(at: 301), "once is enough")
        session.loggedOut()
        #expect(!session.logoutPending)
        #expect(!session.isPresented)
        #expect(rest(at: 0) == nil)
    }

    @Test func aPINThatIsNotUsedIsOverEarlierAndOneThatIsUsedLastsToTheEnd() {
        #expect(begin(until: 300, unused: 100))
        #expect(rest(at: 40) == .seconds(60))
        #expect(!end(at: 99))
        session.noteUse(at: start + .seconds(99))
        #expect(rest(at: 100) == .seconds(99))
        #expect(!end(at: 198))
        session.noteUse(at: start + .seconds(198))
        session.noteUse(at: start + .seconds(297))
        #expect(rest(at: 299) == .seconds(1))
        #expect(end(at: 300))
        session.loggedOut()
        session.take(.accepted("123456"))
        #expect(!begin(until: nil, unused: 100), "the thread of the first term waits for this one too")
        #expect(end(at: 100))
    }

    @Test func withoutAnEndAPINCountsForAsLongAsTheCardIsIn() {
        #expect(!begin(until: nil))
        #expect(!session.wantsTerm)
        #expect(!end(at: 1_000_000))
        session = session.withoutCard()
        #expect(!session.isPresented)
        session.take(.accepted("123456"))
        #expect(session.wantsTerm)
    }

    @Test func oneThreadWaitsForTheEndOfOneTermAfterTheOther() {
        #expect(begin(until: 300))
        session = session.withoutCard()
        session.take(.accepted("123456"))
        #expect(!begin(until: 600))
        #expect(rest(at: 0) == .seconds(600))
        session.loggedOut()
        #expect(rest(at: 0) == nil)
        session.take(.accepted("123456"))
        #expect(begin(until: 900))
    }
}
