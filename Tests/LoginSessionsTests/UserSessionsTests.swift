import Testing

@testable import LoginSessions

@Suite struct UserSessionsTests {
    private typealias Session = UserSessions.Session

    private static let desktop = Session(isPersonal: true, hasSeat: true, isLocked: false)
    private static let remote = Session(isPersonal: true, hasSeat: false, isLocked: false)
    private static let timer = Session(isPersonal: false, hasSeat: false, isLocked: false)
    private static let locked = Session(isPersonal: true, hasSeat: true, isLocked: true)

    /// A change of all sessions, and its events.
    struct Change: CustomStringConvertible, Sendable {
        let description: String
        let former: [String: UserSessions.Session]
        let new: [String: UserSessions.Session]
        let events: [LoginEvent]
    }

    @Test(arguments: [
        Change(description: "the first look", former: [:], new: ["a": locked], events: []),
        Change(description: "a new session", former: ["a": desktop], new: ["a": desktop, "b": locked], events: []),
        Change(
            description: "logout", former: ["a": desktop, "b": desktop], new: ["b": desktop], events: [.sessionEnded]),
        Change(description: "the last logout", former: ["a": desktop], new: [:], events: [.sessionEnded]),
        Change(description: "a remote command", former: ["a": desktop, "b": remote], new: ["a": desktop], events: []),
        Change(description: "the last remote session", former: ["b": remote], new: [:], events: [.sessionEnded]),
        Change(
            description: "the last remote session beside a job", former: ["b": remote, "c": timer], new: ["c": timer],
            events: [.sessionEnded]),
        Change(description: "the end of a job", former: ["c": timer], new: [:], events: []),
        Change(description: "a lock", former: ["a": desktop], new: ["a": locked], events: [.screenLocked]),
        Change(description: "still locked", former: ["a": locked], new: ["a": locked], events: []),
        Change(description: "unlocked", former: ["a": locked], new: ["a": desktop], events: []),
        Change(
            description: "a logout and a lock", former: ["a": desktop, "b": desktop], new: ["b": locked],
            events: [.sessionEnded, .screenLocked]),
    ])
    func aChangeHasItsEvents(_ change: Change) {
        var sessions = UserSessions()
        _ = sessions.replace(with: change.former)
        let events = (sessions.replace(with: change.new), sessions.replace(with: change.new))
        #expect(events.0 == change.events)
        #expect(events.1 == [])
    }

    @Test func aHintThatTheScreenIsLockedCountsOnceAndForKnownSessions() {
        var sessions = UserSessions()
        _ = sessions.replace(with: ["a": Self.desktop])
        let hints = [(true, "a"), (true, "a"), (false, "a"), (true, "a"), (true, "b")]
        let areNew = hints.map { sessions.note(isLocked: $0, of: $1) }
        #expect(areNew == [true, false, false, true, false])
    }
}
