internal import KeychainStore
internal import Glibc
internal import Platform
internal import Synchronization

/// Whether the user's login session is locked, according to systemd-logind. Without logind it never is.
///
/// The screen locker tells logind; without a locker the session counts as unlocked. org.freedesktop.login1(5), `LockedHint`.
enum LoginSession {
    /// The time for which an answer is reused, in milliseconds.
    static let memory: Int64 = 1000

    private static let remembered = Mutex<(isLocked: Bool, at: Int64)?>(nil)

    @Sendable static func isLocked() -> Bool {
        remembered.withLock { remembered in
            let now = Uptime.now().total
            if let remembered, now - remembered.at < memory { return remembered.isLocked }
            let isLocked = isLocked(bus: "/run/dbus/system_bus_socket") ?? false
            remembered = (isLocked, now)
            return isLocked
        }
    }

    /// Asks logind over the bus at a path; nil without an answer.
    ///
    /// - Parameter patience: Seconds that each part of an answer may take: a listener that never answers must not keep
    ///   a program waiting.
    static func isLocked(bus path: String, patience: Int = 1) -> Bool? {
        guard let socket = connect(to: path, patience) else { return nil }
        defer { close(socket) }
        let hello = BusMessage.call(
            "Hello", of: "org.freedesktop.DBus", at: "/org/freedesktop/DBus", to: "org.freedesktop.DBus", serial: 1)
        let question = BusMessage.call(
            "Get", of: "org.freedesktop.DBus.Properties", at: "/org/freedesktop/login1/session/auto",
            to: "org.freedesktop.login1", arguments: ["org.freedesktop.login1.Session", "LockedHint"], serial: 2)
        let user = "\(geteuid())".utf8.map { String($0, radix: 16) }.joined()
        guard send([0] + Array("AUTH EXTERNAL \(user)\r\n".utf8), to: socket),
            let greeting = readLine(from: socket), greeting.starts(with: "OK ".utf8),
            send(Array("BEGIN\r\n".utf8) + hello + question, to: socket)
        else { return nil }
        // The answer to the greeting and signals come before the one that is waited for.
        for _ in 0..<16 {
            guard let header = read(BusMessage.headerLength, from: socket),
                let length = BusMessage.length(header: header),
                let rest = read(length - BusMessage.headerLength, from: socket)
            else { return nil }
            if let answer = BusMessage.answer(in: header + rest), answer.serial == 2 { return answer.flag }
        }
        return nil
    }

    private static func connect(to path: String, _ patience: Int) -> Int32? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        var limit = timeval(tv_sec: patience, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            _ = unsafe setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    private static func send(_ bytes: [UInt8], to socket: Int32) -> Bool {
        (try? Descriptor.send(bytes.span, to: socket)) != nil
    }

    private static func read(_ count: Int, from socket: Int32) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            var part = [UInt8](repeating: 0, count: count - bytes.count)
            let length = unsafe part.withUnsafeMutableBytes { unsafe recv(socket, $0.baseAddress, $0.count, 0) }
            if length < 0, errno == EINTR { continue }
            guard length > 0 else { return nil }
            bytes += part.prefix(length)
        }
        return bytes
    }

    /// A line of at most 256 bytes, without its end.
    private static func readLine(from socket: Int32) -> [UInt8]? {
        var line: [UInt8] = []
        while line.count < 256, let byte = read(1, from: socket) {
            if byte == [0x0A] { return line.last == 0x0D ? line.dropLast() : line }
            line += byte
        }
        return nil
    }
}
