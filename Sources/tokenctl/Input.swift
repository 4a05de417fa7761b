internal import KeychainModel
internal import Glibc
internal import Localization
internal import Platform
internal import SecureBytes
internal import SystemCrypto

/// A file to be read, or standard input for `-`.
struct Input: ~Copyable {
    /// The maximum length in bytes of a message that must be in memory as a whole.
    static let maximumWhole = 1 << 20
    /// The maximum length of a message for a symmetric key, or for Ed25519, which reads it twice.
    static let maximumMessage = 1 << 28
    /// The maximum length of the encrypted message: an initialisation vector and a tag are added.
    static let maximumCiphertext = maximumMessage + 28
    private static let chunk = 1 << 16
    private static let longSize: Int64 = 1 << 26

    let name: String
    private let descriptor: Int32

    /// - Parameter isStream: whether it may be a named pipe, whose writer is waited for.
    init(_ path: String, isStream: Bool = false) throws {
        name = path == "-" ? String(localized: "standard input") : path
        descriptor = path == "-" ? STDIN_FILENO : try Input.open(path, isStream: isStream)
    }

    private static func open(_ path: String, isStream: Bool) throws -> Int32 {
        let descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | (isStream ? 0 : O_NONBLOCK))
        guard descriptor >= 0 else {
            throw CommandError("cannot read '\(path)'", "\(SystemError().reason)")
        }
        var status = stat()
        let isPipe = unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
        guard isStream || !isPipe || isInherited(path) else {
            close(descriptor)
            throw CommandError(
                "cannot read '\(path)'", "it is a named pipe, and not a file",
                advice: "write what comes out of it to a file, and name that")
        }
        _ = fcntl(descriptor, F_SETFL, 0)
        return descriptor
    }

    /// Whether the path is one of the command's own descriptors, as a shell's `<(…)`: a pipe that has its writer
    /// already.
    private static func isInherited(_ path: String) -> Bool {
        path == "/dev/stdin" || path.hasPrefix("/dev/fd/") || path.hasPrefix("/proc/self/fd/")
    }

    deinit {
        if descriptor != STDIN_FILENO { close(descriptor) }
    }

    /// The size in bytes; nil for a pipe and the like; 0 for a folder, from which nothing is read.
    private var size: Int64? {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return nil }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return Int64(status.st_size)
        case S_IFDIR: return 0
        default: return nil
        }
    }

    /// Whether reading it may take so long that a person is asked for the PIN before.
    var isLong: Bool { size.map { $0 > Input.longSize } ?? true }

    /// The digest, computed as the input is read: memory does not grow with the file.
    func digest(_ algorithm: DigestAlgorithm) throws -> [UInt8] {
        var context = try DigestContext(algorithm)
        try forEachChunk { try context.update($0) }
        return try context.finalize()
    }

    /// All of the input, up to `limit` bytes. No other copy is left in memory, since it may be a key.
    ///
    /// - Parameter refusal: the error for a longer input, instead of the usual one.
    func whole(limit: Int = maximumWhole, orElse refusal: KeychainError? = nil) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try forEachChunk { chunk in
            guard bytes.count + chunk.count <= limit else {
                bytes.wipe()
                throw refusal ?? CommandError("'\(name)' is too long", "it has more than \(limit) bytes")
            }
            if bytes.count + chunk.count > bytes.capacity {
                var longer: [UInt8] = []
                longer.reserveCapacity(2 * (bytes.count + chunk.count))
                longer += bytes
                bytes.wipe()
                bytes = longer
            }
            for index in chunk.indices { bytes.append(chunk[index]) }
        }
        return bytes
    }

    private func forEachChunk(_ body: (Span<UInt8>) throws -> Void) throws {
        var buffer = [UInt8](repeating: 0, count: Input.chunk)
        defer { buffer.wipe() }
        var progress = Progress.reading(name, of: size)
        var done: Int64 = 0
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else {
                throw CommandError("cannot read '\(name)'", "\(SystemError().reason)")
            }
            if count == 0 { return }
            try body(buffer.span.extracting(..<count))
            done += Int64(count)
            progress.advance(to: done)
        }
    }
}

/// The destination of a result: a file that is replaced as a whole, any other kind of file that a path leads to, or
/// standard output.
struct Output {
    let path: String?

    /// Checks, before anybody is asked for a PIN, that the file can be written, and that this destroys neither the input, which may
    /// be the only copy of its content, nor a keychain.
    func check(sparing input: String? = nil) throws {
        var own = stat()
        guard let path, path != "-" else { return }
        guard unsafe stat(path, &own) == 0 else { return try checkFolder(of: path) }
        guard own.st_mode & S_IFMT != S_IFDIR else {
            throw CommandError("cannot write '\(path)'", "\(SystemError(EISDIR).reason)")
        }
        guard own.st_mode & S_IFMT == S_IFREG else { return }
        var other = stat()
        if let input, unsafe input == "-" ? fstat(STDIN_FILENO, &other) == 0 : stat(input, &other) == 0,
            own.st_dev == other.st_dev, own.st_ino == other.st_ino
        {
            throw CommandError(
                "cannot write '\(path)'", "it is what is read, and would be lost", advice: "name another file")
        }
        if Output.isKeychain(path) {
            throw CommandError(
                "cannot write '\(path)'", "it is a keychain, and would be lost", advice: "name another file")
        }
        try checkFolder(of: resolvedPath(path) ?? path)
    }

    /// Checks that the result takes the place of no file, whose content may still be needed.
    func checkIsNew() throws {
        var own = stat()
        guard let path, path != "-", unsafe stat(path, &own) == 0, own.st_mode & S_IFMT == S_IFREG else { return }
        throw CommandError(
            "cannot write '\(path)'", "it is there already, and may still be needed", advice: "name another file")
    }

    /// Makes a folder for results, unless it is there.
    static func makeFolder(_ folder: String) throws {
        guard unsafe mkdir(folder, 0o777) == 0 || errno == EEXIST else {
            throw CommandError("cannot make the folder '\(folder)'", "\(SystemError().reason)")
        }
    }

    private static func isKeychain(_ path: String) -> Bool {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return false }
        defer { close(file) }
        var header = [UInt8](repeating: 0, count: KeychainFileHeader.length)
        return unsafe read(file, &header, header.count) == header.count && KeychainFileHeader.isKeychain(header)
    }

    /// A file is replaced by a new one in its folder.
    private func checkFolder(of path: String) throws {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        guard unsafe access(folder, W_OK | X_OK) == 0 else {
            throw CommandError("cannot write '\(path)'", "\(SystemError().reason)")
        }
    }

    /// - Parameter mode: the mode of a new file. A file that exists gets only those bits that it has already.
    func write(_ bytes: borrowing Secret, mode: mode_t = 0o644) throws {
        guard let path, path != "-" else { return try StandardOutput.write(bytes) }
        try check()
        do throws(SystemError) {
            var status = stat()
            guard unsafe stat(path, &status) == 0 else {
                return try AtomicFile.replace(path, with: bytes.bytes, mode: .new(mode))
            }
            guard status.st_mode & S_IFMT == S_IFREG else { return try Output.fill(path, bytes) }
            guard status.st_mode & 0o200 != 0 else { throw SystemError(EACCES) }
            try AtomicFile.replace(resolvedPath(path) ?? path, with: bytes.bytes, mode: .new(mode & status.st_mode))
        } catch {
            throw CommandError("cannot write '\(path)'", "\(error.reason)")
        }
    }

    func write(_ bytes: [UInt8], mode: mode_t = 0o644) throws {
        try write(Secret(copying: bytes.span), mode: mode)
    }

    /// Writes to a device, a pipe or a terminal, which is not replaced.
    private static func fill(_ path: String, _ bytes: borrowing Secret) throws(SystemError) {
        let descriptor = unsafe open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError() }
        defer { close(descriptor) }
        try Descriptor.write(bytes.bytes, to: descriptor)
    }
}
