import SecureBytes
import Testing

@testable import TokenKit

/// The PIN of a login: the keys for which it may be presented, and its end.
@Suite struct PINSessionLoginTests {
    private static let start = ContinuousClock.now

    private func session(_ pin: borrowing PIN = PIN("123456"), until end: Duration? = nil) -> PINSession {
        var session = PINSession()
        session.accepted(pin, as: .pin)
        _ = session.beginTerm(PINLimits(total: end), at: Self.start)
        session.beginLogin(with: pin)
        return session
    }

    private func given(_ session: inout PINSession, for policy: PINPolicy) throws(TokenError) -> [UInt8] {
        let pin = try session.loginPIN(for: policy)
        return pin.bytes.indices.map { pin.bytes[$0] }
    }

    private func origin(_ session: inout PINSession) throws(TokenError) -> PIN.Origin {
        try session.loginPIN(for: .always).origin
    }

    private func hasPIN(_ session: PINSession) -> Bool {
        let pin = session.loginPIN()
        return pin != nil
    }

    private let digits = Array("123456".utf8)

    @Test func itIsGivenForKeysThatAskOnceAsOftenAsTheyWantIt() throws {
        var session = session()
        for _ in 1...3 { #expect(try given(&session, for: .once) == digits) }
        #expect(session.loginState() == .lasting)
    }

    @Test(arguments: [PINPolicy.always, .other(7)]) func itIsGivenOnceForKeysThatWantItEachTime(policy: PINPolicy)
        throws
    {
        var session = session()
        #expect(try given(&session, for: policy) == digits)
        #expect(throws: TokenError(.pinRequired, "")) { try given(&session, for: policy) }
        #expect(try given(&session, for: .once) == digits, "the login lasts")
    }

    @Test func oneThatWasTypedOnTheReaderIsNotPresentedAgain() throws {
        var session = session(PIN.typed)
        #expect(!hasPIN(session))
        #expect(try origin(&session) == .presented)
        #expect(throws: TokenError(.pinRequired, "")) { try given(&session, for: .always) }
        session.refreshLogin()
        #expect(try origin(&session) == .presented)
        #expect(session.loginState() == .lasting)
        #expect(throws: TokenError(.pinRequired, "")) { try given(&session, for: .once) }
        #expect(session.loginState() == .none, "the card has forgotten it")
    }

    @Test func aNewPINTakesItsPlace() throws {
        var session = session()
        session.replaced(.unblockingKey, by: PIN("12345678"))
        #expect(try given(&session, for: .once) == digits)
        session.replaced(.pin, by: PIN("654321"))
        #expect(try given(&session, for: .once) == Array("654321".utf8))
    }

    @Test func theEndOfItsTermEndsTheLogin() throws {
        var session = session(until: .seconds(10))
        session.endTerm(at: Self.start + .seconds(9))
        #expect(session.loginState() == .lasting)
        session.endTerm(at: Self.start + .seconds(10))
        #expect(session.loginState() == .timedOut)
        #expect(!hasPIN(session))
        #expect(throws: TokenError(.pinRequired, "")) { try given(&session, for: .once) }
    }

    @Test func itEndsWithTheCardAndWithTheLogin() {
        var session = session()
        #expect(session.withoutCard().loginState() == .none)
        // A reset by another program does not end the login: the PIN is presented again.
        session.forgetPresented()
        #expect(session.loginState() == .lasting)
        session.endLogin()
        #expect(!hasPIN(session))
    }

    // MARK: A kept PIN

    private func shared() -> PINSession {
        var session = PINSession(keepingPIN: true)
        session.accepted(PIN("123456"), as: .pin)
        session.beginLogin(with: PIN("123456"))
        return session
    }

    /// A call that took the PIN of its login before the PIN was forgotten, and presents it after that.
    @Test func aForgottenPINIsNotKeptAgainByWhoTookItBefore() throws {
        var session = shared()
        let taken = try session.loginPIN(for: .once)
        session.forgetPIN()
        session.accepted(taken, as: .pin)
        #expect(session.kept == nil)
        session.accepted(PIN("123456"), as: .pin)
        #expect(session.kept != nil, "somebody gives it anew")
    }

    @Test func aLoginThatWasUnderWayWhenThePINWasForgottenHasNone() {
        var session = PINSession(keepingPIN: true)
        let pin = PIN("123456")
        session.accepted(pin, as: .pin)
        session.forgetPIN()
        session.loggedOut()
        session.beginLogin(with: pin)
        #expect(session.loginState() == .none)
        #expect(!hasPIN(session))
    }

    @Test func onlyWhoGivesThePINIsItsGiver() throws {
        var session = shared()
        let other = PINClient(number: 7)
        let hasBegun = session.beginLoginWithKeptPIN(of: other)
        #expect(hasBegun)
        let taken = try session.loginPIN(for: .once, of: other)
        session.noteGift(taken, of: other)
        #expect(session.hasPIN(ofOthersThan: other))
        session.noteGift(PIN("123456"), of: other)
        #expect(!session.hasPIN(ofOthersThan: other))
        session.forgetPIN()
        #expect(session.givers.isEmpty)
    }

    @Test func twoRefusalsOfOtherValuesForgetIt() {
        var session = shared()
        session.refused(PIN("111111"), as: .pin, triesLeft: 2)
        #expect(session.kept != nil)
        session.refused(PIN("222222"), as: .pin, triesLeft: 1)
        #expect(session.kept == nil)
    }
}
