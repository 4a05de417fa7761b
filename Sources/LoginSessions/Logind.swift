internal import CSystemd
internal import Glibc

/// A conversation with systemd-logind over one connection to the system's bus. org.freedesktop.login1(5)
final class Logind {
    private static let bus = "org.freedesktop.DBus"
    static let name = "org.freedesktop.login1"
    private static let manager = name + ".Manager"
    static let session = name + ".Session"
    static let properties = "org.freedesktop.DBus.Properties"

    /// The most sessions of the user that are followed.
    private static let maximum = 256

    private let bus: MessageBus
    private let files: SessionFiles
    private let user: UInt32
    private let tell: (LoginEvent) -> Void
    /// The state of the sessions, as far as it is known.
    private(set) var sessions: UserSessions
    /// The unique name of logind; nil while it does not run. A signal of any other sender is ignored.
    private var owner: String?
    /// The descriptor that delays the sleep of the machine while it is open; negative for none.
    private var delay: Int32 = -1

    /// - Parameter sessions: the state as an earlier connection left it.
    init(
        _ bus: consuming MessageBus, _ systemd: UnsafePointer<csystemd>, user: UInt32, _ sessions: UserSessions,
        _ tell: @escaping (LoginEvent) -> Void
    ) {
        self.bus = bus
        files = unsafe SessionFiles(systemd)
        (self.user, self.sessions, self.tell) = (user, sessions, tell)
    }

    deinit { allowSleep() }

    /// Tells of events until the connection ends, or a descriptor is readable.
    ///
    /// - Returns: whether the descriptor is readable.
    func watch(until end: Int32) -> Bool {
        do throws(BusError) {
            try subscribe()
            while true {
                while let message = try bus.next() { handle(message) }
                if try wait(for: end) { return true }
            }
        } catch {
            return false
        }
    }

    private func subscribe() throws(BusError) {
        let ofLogind = "type='signal',sender='\(Logind.name)'"
        for rule in [
            "type='signal',sender='\(Logind.bus)',member='NameOwnerChanged',arg0='\(Logind.name)'",
            "\(ofLogind),interface='\(Logind.manager)'", "\(ofLogind),interface='\(Logind.session)',member='Lock'",
            "\(ofLogind),interface='\(Logind.properties)',member='PropertiesChanged',arg0='\(Logind.session)'",
        ] {
            _ = try callBus("AddMatch", rule)
        }
        // Without logind this fails. A call to logind itself would start it.
        meet((try? callBus("GetNameOwner", Logind.name).string()) ?? "")
    }

    private func callBus(_ member: String, _ argument: String) throws(BusError) -> BusMessage {
        try bus.call(member, of: Logind.bus, at: "/org/freedesktop/DBus", on: Logind.bus, [argument])
    }

    /// - Returns: whether the descriptor is readable.
    private func wait(for end: Int32) throws(BusError) -> Bool {
        var waiting = [end, files.descriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) } + [bus.polled]
        guard unsafe poll(&waiting, nfds_t(waiting.count), -1) >= 0 || errno == EINTR else {
            throw BusError(code: errno)
        }
        if waiting[1].revents != 0 {
            files.flush()
            lookAtSessions()
        }
        return waiting[0].revents != 0
    }

    // MARK: Signals

    /// A message that cannot be read is ignored. The next use of the bus shows whether its connection has ended.
    private func handle(_ message: borrowing BusMessage) {
        do throws(BusError) {
            let sender = message.sender
            if sender == Logind.bus, message.isSignal("NameOwnerChanged", of: Logind.bus) {
                guard try message.string() == Logind.name else { return }
                try message.skip("s")
                meet(try message.string())
            } else if let owner, sender == owner {
                try handleSignal(message)
            }
        } catch {}
    }

    private func handleSignal(_ message: borrowing BusMessage) throws(BusError) {
        if message.isSignal("PrepareForSleep", of: Logind.manager) {
            guard try message.flag() else { return delaySleep() }
            tell(.suspending)
            allowSleep()
        } else if message.isSignal("Lock", of: Logind.session) {
            if sessions.contains(message.path ?? "") { tell(.screenLocked) }
        } else if message.isSignal("PropertiesChanged", of: Logind.properties) {
            guard try message.string() == Logind.session, let path = message.path else { return }
            let isLocked = try readProperties(message).isLocked
            if let isLocked, sessions.note(isLocked: isLocked, of: path) { tell(.screenLocked) }
        } else if ["SessionNew", "SessionRemoved", "UserRemoved"].contains(where: {
            message.isSignal($0, of: Logind.manager)
        }) {
            lookAtSessions()
        }
    }

    /// Begins anew with the present logind.
    ///
    /// - Parameter owner: its unique name; empty where it does not run.
    private func meet(_ owner: String) {
        allowSleep()
        self.owner = owner.isEmpty ? nil : owner
        lookAtSessions()
        delaySleep()
    }

    // MARK: Sleep

    private func delaySleep() {
        guard delay < 0, let owner else { return }
        let arguments = ["sleep", "tokenkit", "Cards forget their PINs and keychains lock", "delay"]
        delay =
            (try? bus.call(
                "Inhibit", of: Logind.manager, at: "/org/freedesktop/login1", on: owner, arguments
            ).descriptor()) ?? -1
    }

    private func allowSleep() {
        if delay >= 0 { close(delay) }
        delay = -1
    }

    // MARK: Sessions

    /// Asks for the sessions of the user, and tells of the difference. Sessions that cannot be asked for are as they were.
    private func lookAtSessions() {
        guard let owner, let new = try? presentSessions(owner) else { return }
        for event in sessions.replace(with: new) { tell(event) }
    }

    private func presentSessions(_ owner: String) throws(BusError) -> [String: UserSessions.Session] {
        let list = try bus.call("ListSessions", of: Logind.manager, at: "/org/freedesktop/login1", on: owner)
        var own: [(path: String, hasSeat: Bool)] = []
        // The fields of a session are its id, the user's number and name, the seat's name, and the object's path.
        try list.each("(susso)") { list throws(BusError) in
            try list.inside(.structure, "susso") { session throws(BusError) in
                try session.skip("s")
                let user = try session.number()
                try session.skip("s")
                let seat = try session.string()
                let path = try session.objectPath()
                if user == self.user, own.count < Logind.maximum { own.append((path, !seat.isEmpty)) }
            }
        }
        var sessions: [String: UserSessions.Session] = [:]
        for (path, hasSeat) in own {
            let answer = try bus.call("GetAll", of: Logind.properties, at: path, on: owner, [Logind.session])
            let properties = try readProperties(answer)
            guard properties.state != "closing" else { continue }
            sessions[path] = UserSessions.Session(
                isPersonal: properties.kind?.hasPrefix("user") ?? true, hasSeat: hasSeat,
                isLocked: properties.isLocked ?? false)
        }
        return sessions
    }

    /// The properties of a session that are used; nil for those that are not told.
    private struct Properties {
        var isLocked: Bool?
        var state: String?
        var kind: String?
    }

    private func readProperties(_ message: borrowing BusMessage) throws(BusError) -> Properties {
        var properties = Properties()
        try message.each("{sv}") { message throws(BusError) in
            try message.inside(.dictionaryEntry, "sv") { entry throws(BusError) in
                switch try entry.string() {
                case "LockedHint":
                    try entry.inside(.variant, "b") { value throws(BusError) in properties.isLocked = try value.flag() }
                case "State":
                    try entry.inside(.variant, "s") { value throws(BusError) in properties.state = try value.string() }
                case "Class":
                    try entry.inside(.variant, "s") { value throws(BusError) in properties.kind = try value.string() }
                default: try entry.skip("v")
                }
            }
        }
        return properties
    }
}
