internal import CHostStart
internal import CThinClient

/// The search for the host.
enum HostSearch {
    /// Becomes the client of a host that ssh forwards from another machine, or of the session's host, or else starts a host for this process
    /// alone, which ends with the process.
    ///
    /// - Parameter firstHandle: the number that handles begin with.
    /// - Returns: the connection, whose hello the host has accepted.
    /// - Throws: ``Client/hostFailed``, or what ``Client/requireNeed()`` throws.
    static func connect(firstHandle: UInt64, _ deadline: Deadline) throws(Failure) -> Int32 {
        var environment = ClientEnvironment()
        let hello = Client.hello(firstHandle: firstHandle, environment: environment.variables)
        if let folder = sessionFolder {
            if Client.usesRemoteHost {
                let descriptor = connect(to: folder, "forwarded\0")
                if descriptor >= 0, isGreeted(descriptor, hello, isRemote: true, deadline.half) { return descriptor }
            }
            let descriptor = connect(to: folder, "host\0")
            if descriptor >= 0, isGreeted(descriptor, hello, deadline.half) { return descriptor }
        }
        try Client.requireNeed()
        guard FailedStarts.allowStart else { throw hasEnded }
        // A host that ends during its start may have been killed together with the one before it.
        for _ in 0..<attempts where deadline.remaining > 0 {
            let descriptor = start(&environment)
            guard descriptor >= 0 else {
                throw Failure(
                    Client.hostFailed, isHost: false,
                    "no host could be started (is tokenkitd installed beside the library?)")
            }
            if isGreeted(descriptor, hello, deadline) {
                FailedStarts.forget()
                return descriptor
            }
        }
        FailedStarts.note()
        throw hasEnded
    }

    private static let attempts = 2

    private static let hasEnded = Failure(
        Client.hostFailed, isHost: false,
        "a host was started, and has ended or does not answer (does tokenkitd run beside the library?)")

    /// Becomes the client of a host, or else closes the connection.
    ///
    /// - Parameter isRemote: whether the host is one on another machine.
    private static func isGreeted(
        _ descriptor: Int32, _ hello: [UInt8], isRemote: Bool = false, _ deadline: Deadline
    ) -> Bool {
        tokenkit_set_patience(descriptor)
        guard greet(descriptor, hello, isRemote, deadline) else {
            _ = close(descriptor)
            return false
        }
        return true
    }

    private static func greet(
        _ descriptor: Int32, _ fields: [UInt8], _ isRemote: Bool, _ deadline: Deadline
    ) -> Bool {
        guard send(Client.helloKind, fields, to: descriptor, deadline),
            let header = receive(FrameHeader.byteCount, from: descriptor, deadline)
        else { return false }
        guard let header = try? FrameHeader(parsing: header), header.kind == .hello, header.number == 0,
            header.secretCount == 0, let fields = receive(header.fieldCount, from: descriptor, deadline),
            let answer = try? HelloAnswer(parsing: fields)
        else { return false }
        switch answer {
        case .served(Client.version) where !isRemote: Host.note(nil)
        case .servedRemotely(Client.version, let ticket) where isRemote: Host.note(ticket)
        default: return false
        }
        return true
    }

    /// Sends the first message of a connection.
    static func send(
        _ kind: FrameHeader.Kind, _ fields: [UInt8], to descriptor: Int32, _ deadline: Deadline
    ) -> Bool {
        let message = FrameHeader(kind, number: 0, fieldCount: fields.count, secretCount: 0).encoded() + fields
        let sent = unsafe message.withUnsafeBytes { message in
            var part = unsafe iovec(
                iov_base: UnsafeMutableRawPointer(mutating: message.baseAddress), iov_len: message.count)
            return unsafe tokenkit_send(descriptor, tokenkit_socket_inode(descriptor), &part, 1, deadline.time)
        }
        return sent == 0
    }

    private static func receive(_ count: Int, from descriptor: Int32, _ deadline: Deadline) -> [UInt8]? {
        guard 1...4096 ~= count else { return nil }
        var bytes = [UInt8](repeating: 0, count: count)
        let result = unsafe bytes.withUnsafeMutableBytes {
            unsafe tokenkit_receive(descriptor, tokenkit_socket_inode(descriptor), $0.baseAddress, count, deadline.time)
        }
        return result == 0 ? bytes : nil
    }

    /// The failed starts of a host, and the pause after them. A host that cannot run, as one whose library is missing, is thus not
    /// started by every call: after each failure the pause is twice as long, up to a minute.
    ///
    /// For the thread that has the client's connection.
    enum FailedStarts {
        private static var count: Int32 { Int32(tokenkit_word_failed_starts) }
        private static var end: Int32 { Int32(tokenkit_word_pause_end) }

        private static let firstPause: UInt64 = 100
        private static let longestPause: UInt64 = 60_000

        fileprivate static var allowStart: Bool {
            tokenkit_load(count) == 0 || tokenkit_now() >= Int64(tokenkit_load(end))
        }

        fileprivate static func note() {
            let failures = min(tokenkit_load(count) + 1, 16)
            tokenkit_store(count, failures)
            tokenkit_store(end, UInt64(tokenkit_now()) + min(firstPause << (failures - 1), longestPause))
        }

        static func forget() { tokenkit_store(count, 0) }
    }

    // MARK: - The session's host

    /// The folder of the session's host: `$XDG_RUNTIME_DIR/tokenkit`.
    private static var sessionFolder: [UInt8]? {
        guard var folder = absolutePath("XDG_RUNTIME_DIR") else { return nil }
        folder.append("/tokenkit\0")
        return folder
    }

    /// - Parameter name: of the socket, with a null byte at its end.
    private static func connect(to folder: [UInt8], _ name: StaticString) -> Int32 {
        unsafe folder.withUnsafeBytes { folder in
            guard let folder = folder.baseAddress else { return -1 }
            let name = unsafe UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
            return unsafe tokenkit_connect(folder.assumingMemoryBound(to: CChar.self), name)
        }
    }

    // MARK: - A host of this process's own

    /// The value of a variable that holds a path. A relative path is ignored, as the XDG Base Directory Specification demands.
    static func absolutePath(_ name: StaticString) -> [UInt8]? {
        guard let value = unsafe tokenkit_getenv(UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)),
            unsafe value[0] == 0x2F
        else { return nil }
        return unsafe [UInt8](text: value)
    }

    /// Starts the `tokenkitd` that belongs to the library: in the `libexec` folder relative to the library, or beside it, as in a
    /// build folder. A copy of the library that lies elsewhere starts the program at the path that was set when the library was
    /// built, or a package's.
    private static func start(_ environment: inout ClientEnvironment) -> Int32 {
        var ends: (Int32, Int32) = (-1, -1)
        let made = unsafe withUnsafeMutablePointer(to: &ends) { pair in
            unsafe pair.withMemoryRebound(to: Int32.self, capacity: 2) { unsafe tokenkit_socket_pair($0) }
        }
        guard made == 0 else { return -1 }
        defer { _ = close(ends.1) }
        let places: [StaticString] = ["/../libexec/tokenkitd", "/../../libexec/tokenkitd", "/tokenkitd"]
        if let folder = folderOfLibrary {
            for place in places where start(folder, place, isOwn: true, &environment, ends.1) { return ends.0 }
        }
        if start(unsafe [UInt8](text: tokenkit_installed_host()), "", &environment, ends.1) { return ends.0 }
        if start([UInt8]("/usr/libexec/tokenkitd"), "", &environment, ends.1) { return ends.0 }
        _ = close(ends.0)
        return -1
    }

    /// - Parameter isOwn: whether the program must be one that ``Client/trusts(_:)``. An installed one may seem another user's in a
    ///   container.
    private static func start(
        _ folder: [UInt8], _ name: StaticString, isOwn: Bool = false, _ environment: inout ClientEnvironment,
        _ socket: Int32
    ) -> Bool {
        var path = folder
        path.append(name)
        path.append(0)
        return unsafe path.withUnsafeBytes { path in
            guard let path = unsafe path.baseAddress?.assumingMemoryBound(to: CChar.self),
                unsafe access(path, X_OK) == 0, unsafe !isOwn || Client.trusts(path)
            else { return false }
            return unsafe environment.withPointers { unsafe tokenkit_start(path, $0, socket, 0) } == 0
        }
    }

    /// The folder of the library's file, with symbolic links resolved; nil where it is unknown.
    private static var folderOfLibrary: [UInt8]? {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { folder in
            guard let start = folder.baseAddress, unsafe tokenkit_own_folder(start) != 0 else { return nil }
            return unsafe [UInt8](text: start)
        }
    }
}
