internal import CSystemd
internal import Glibc

/// A message in a bubble of the desktop.
package struct DesktopNotification: Sendable, Hashable {
    /// Desktop Notifications Specification 1.2, "Urgency Levels".
    package enum Urgency: UInt8, Sendable {
        case normal = 1
        /// Shown until it is closed.
        case critical = 2
    }

    /// One line of plain text.
    package let title: String
    /// Plain text.
    package let text: String
    package let urgency: Urgency
    /// Whether it is worth nothing once it is over, and is not kept in a list of what was shown.
    package let isPassing: Bool

    package init(_ title: String, _ text: String, urgency: Urgency = .normal, isPassing: Bool = false) {
        (self.title, self.text, self.urgency, self.isPassing) = (title, text, urgency, isPassing)
    }
}

/// The notification server of the desktop, over one connection to the session's bus, for one thread. Desktop Notifications Specification 1.2.
struct NotificationServer: ~Copyable {
    /// A bubble of a server, whose numbers no other server knows.
    struct Bubble: Sendable {
        let server: String
        let number: UInt32
    }

    private static let name = "org.freedesktop.Notifications"
    private static let path = "/org/freedesktop/Notifications"
    /// The microseconds in which the server must answer.
    private static let patience: UInt64 = 5_000_000
    /// The milliseconds after which a server takes a passing bubble away that was not closed, as after the end of the host.
    private static let passingTime: Int32 = 60_000
    /// The messages of others that are read at a time. A connection that has more is given up.
    private static let mostMessages = 1000
    /// The characters of a text, of which a server shows fewer.
    private static let mostCharacters = 2000

    private let bus: MessageBus
    /// The unique name of the server that was last seen, and whether it takes a text's markup for that.
    private var known: (server: String, takesMarkup: Bool)?

    init(bus address: String, _ systemd: UnsafePointer<csystemd>) throws(BusError) {
        bus = try unsafe MessageBus.connect(to: address, systemd)
    }

    /// Shows a notification.
    ///
    /// - Parameter former: a bubble that it replaces.
    /// - Returns: nil where no program shows notifications. None is started for it.
    mutating func show(_ notification: DesktopNotification, replacing former: Bubble?) throws(BusError) -> Bubble? {
        guard let (server, takesMarkup) = try present() else { return nil }
        let text = NotificationServer.bounded(notification.text)
        let answer = try call("Notify", server) { call throws(BusError) in
            try call.append("tokenkit")
            try call.append(former.flatMap { $0.server == server ? $0.number : nil } ?? 0)
            try call.append("dialog-password")
            try call.append(NotificationServer.bounded(notification.title))
            try call.append(takesMarkup ? NotificationServer.escaped(text) : text)
            try call.append(.array, "s") { _ throws(BusError) in }
            try call.append(.array, "{sv}") { hints throws(BusError) in
                try NotificationServer.appendHint("urgency", "y", to: hints) { value throws(BusError) in
                    try value.append(notification.urgency.rawValue)
                }
                guard notification.isPassing else { return }
                try NotificationServer.appendHint("transient", "b", to: hints) { value throws(BusError) in
                    try value.append(true)
                }
            }
            try call.append(notification.isPassing ? NotificationServer.passingTime : -1)
        }
        return Bubble(server: server, number: try answer.number())
    }

    /// Takes a bubble away, unless its server has ended.
    mutating func close(_ bubble: Bubble) throws(BusError) {
        guard try present()?.server == bubble.server else { return }
        _ = try call("CloseNotification", bubble.server) { call throws(BusError) in try call.append(bubble.number) }
    }

    /// The server that runs now; nil for none.
    private mutating func present() throws(BusError) -> (server: String, takesMarkup: Bool)? {
        try readOthers()
        let server: String
        do throws(BusError) {
            server = try bus.call(
                "GetNameOwner", of: "org.freedesktop.DBus", at: "/org/freedesktop/DBus", on: "org.freedesktop.DBus",
                [NotificationServer.name], patience: NotificationServer.patience
            ).string()
        } catch {
            // The bus says that the name has no owner.
            guard error.code == ENXIO else { throw error }
            known = nil
            return nil
        }
        if let known, known.server == server { return known }
        var takesMarkup = false
        let capabilities = try call("GetCapabilities", server) { _ throws(BusError) in }
        try capabilities.each("s") { capability throws(BusError) in
            if try capability.string() == "body-markup" { takesMarkup = true }
        }
        known = (server, takesMarkup)
        return known
    }

    /// Reads what other programs have sent meanwhile, which says nothing here.
    private func readOthers() throws(BusError) {
        for _ in 0..<NotificationServer.mostMessages {
            guard let message = try bus.next() else { return }
            _ = consume message
        }
        throw BusError(code: EMSGSIZE)
    }

    /// The server is called by its unique name, by which the bus starts no program.
    private func call(
        _ member: String, _ server: String, _ write: (borrowing BusMessage) throws(BusError) -> Void
    ) throws(BusError) -> BusMessage {
        try bus.call(
            member, of: NotificationServer.name, at: NotificationServer.path, on: server,
            patience: NotificationServer.patience, write)
    }

    private static func appendHint(
        _ name: String, _ type: String, to hints: borrowing BusMessage,
        _ write: (borrowing BusMessage) throws(BusError) -> Void
    ) throws(BusError) {
        try hints.append(.dictionaryEntry, "sv") { entry throws(BusError) in
            try entry.append(name)
            try entry.append(.variant, type, write)
        }
    }

    private static func bounded(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.prefix(mostCharacters)))
    }

    /// The text in the markup of a body, which has `&`, `<` and `>` of XML. Specification, "Markup".
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
