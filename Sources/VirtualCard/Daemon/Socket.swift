internal import Glibc
internal import Platform

/// A connected or listening stream socket, closed with its last reference.
final class Socket: Sendable {
    let descriptor: Int32

    /// - Parameter descriptor: closed with this object.
    init(adopting descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    // MARK: - TCP

    /// A connection to a port of this machine; nil where no process listens.
    static func connect(port: UInt16) throws(VirtualCardError) -> Socket? {
        let socket = try Socket(family: AF_INET)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        socket.set(IPPROTO_TCP, TCP_NODELAY)
        return try socket.connect(&address) ? socket : nil
    }

    /// Acknowledges received bytes at once. vpcd writes a message in two pieces and, without this, waits for the
    /// acknowledgement of the first, 40 ms each time. Linux forgets the setting, so that it is made after each read.
    func acknowledgeQuickly() {
        set(IPPROTO_TCP, TCP_QUICKACK)
    }

    // MARK: - Unix

    /// A connection to a socket in the file system; nil where no process listens.
    static func connect(path: String) throws(VirtualCardError) -> Socket? {
        let socket = try Socket(family: AF_UNIX)
        var address = try unixAddress(path)
        return try socket.connect(&address) ? socket : nil
    }

    /// A socket in the file system that only its owner can connect to. It replaces a socket that a dead process has left.
    static func listen(path: String) throws(VirtualCardError) -> Socket {
        let socket = try Socket(family: AF_UNIX)
        var address = try unixAddress(path)
        if try connect(path: path) != nil {
            throw VirtualCardError(.refused, "a virtual card runs at \(path) already: stop it, or use another path")
        }
        removeSocket(path)
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let bound = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(socket.descriptor, $0, length)
            }
        }
        // No client can connect before listen, so that the mode is right in time.
        guard bound == 0, unsafe chmod(path, 0o600) == 0, Glibc.listen(socket.descriptor, 4) == 0 else {
            throw FileSystem.failure(.unwritable, "cannot listen at \(path)")
        }
        return socket
    }

    /// Removes a socket, but no file of another kind.
    private static func removeSocket(_ path: String) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return }
        _ = unsafe unlink(path)
    }

    /// The next connection, or nil where the client has ended it again.
    func accept() -> Socket? {
        let connection = Glibc.accept(descriptor, nil, nil)
        guard connection >= 0 else { return nil }
        _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
        return Socket(adopting: connection)
    }

    // MARK: - Bytes

    /// The bytes that have come, at most `count`; empty when the other side has ended.
    func receive(upTo count: Int) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: count)
        while true {
            let received = unsafe recv(descriptor, &buffer, count, 0)
            if received < 0, errno == EINTR { continue }
            return Array(buffer.prefix(max(received, 0)))
        }
    }

    /// Exactly `count` bytes, or nil when the other side ends before.
    func receive(exactly count: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let more = receive(upTo: count - bytes.count)
            if more.isEmpty { return nil }
            bytes += more
        }
        return bytes
    }

    /// Sends everything; false when the other side has ended.
    func send(_ bytes: [UInt8]) -> Bool {
        (try? Descriptor.send(bytes.span, to: descriptor)) != nil
    }

    /// Ends the connection in both directions, also for a thread that waits on it.
    func shutDown() {
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// The descriptors that can be read, or have ended; none when the time is up first.
    static func readable(_ descriptors: [Int32], timeout: Duration? = nil) -> [Int32] {
        var entries = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        let ready = unsafe poll(&entries, nfds_t(entries.count), timeout.map { Int32(clamping: $0.milliseconds) } ?? -1)
        return ready > 0 ? entries.filter { $0.revents != 0 }.map(\.fd) : []
    }

    // MARK: - Creation

    private convenience init(family: Int32) throws(VirtualCardError) {
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw FileSystem.failure(.unreachable, "cannot make a socket") }
        self.init(adopting: descriptor)
    }

    private func connect<Address>(_ address: inout Address) throws(VirtualCardError) -> Bool {
        let length = socklen_t(MemoryLayout<Address>.size)
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.connect(descriptor, $0, length)
            }
        }
        if result == 0 { return true }
        guard errno == ECONNREFUSED || errno == ENOENT else {
            throw FileSystem.failure(.unreachable, "cannot connect")
        }
        return false
    }

    private func set(_ level: some BinaryInteger, _ option: Int32) {
        var one: Int32 = 1
        _ = unsafe setsockopt(descriptor, Int32(level), option, &one, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func unixAddress(_ path: String) throws(VirtualCardError) -> sockaddr_un {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = Array(path.utf8)
        let fits = unsafe withUnsafeMutableBytes(of: &address.sun_path) { room in
            guard name.count < room.count else { return false }
            unsafe room.copyBytes(from: name)
            return true
        }
        guard fits, !name.isEmpty else {
            throw VirtualCardError(.unreachable, "\(path) is too long for the path of a socket: use a shorter one")
        }
        return address
    }
}

extension Duration {
    /// Whole milliseconds.
    var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
