/// The login sessions of one user, as logind last described them.
struct UserSessions: Equatable {
    struct Session: Equatable {
        /// Whether the session is a person's, and not that of a timed job or of the user's service manager. org.freedesktop.login1(5), `Class`.
        var isPersonal: Bool
        /// Whether the session is at a screen and keyboard of this machine.
        var hasSeat: Bool
        var isLocked: Bool
    }

    /// The sessions by their object paths.
    private(set) var sessions: [String: Session] = [:]

    func contains(_ path: String) -> Bool { sessions[path] != nil }

    /// Takes another state of all sessions.
    ///
    /// The end of a remote session is an event only if it was the last one: programs open many for one command each.
    ///
    /// - Returns: the events that led from the former state to this one.
    mutating func replace(with new: [String: Session]) -> [LoginEvent] {
        defer { sessions = new }
        var events: [LoginEvent] = []
        let ended = sessions.filter { path, session in session.isPersonal && new[path] == nil }
        let isLast = !new.values.contains(where: \.isPersonal)
        if ended.values.contains(where: { $0.hasSeat || isLast }) { events.append(.sessionEnded) }
        let isLocked = sessions.contains { path, session in !session.isLocked && new[path]?.isLocked == true }
        if isLocked { events.append(.screenLocked) }
        return events
    }

    /// Notes whether the screen of a session is locked.
    ///
    /// - Returns: whether it was locked now.
    mutating func note(isLocked: Bool, of path: String) -> Bool {
        guard let former = sessions[path]?.isLocked else { return false }
        sessions[path]?.isLocked = isLocked
        return isLocked && !former
    }
}
