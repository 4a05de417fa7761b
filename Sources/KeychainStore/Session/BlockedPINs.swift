internal import Glibc
internal import Platform
internal import KeychainModel

/// The file by which a user's programs tell each other of a blocked PIN. It is gone when the machine is switched off.
/// No card tells of a blocked PIN by itself, and asking would cost commands.
struct BlockedPINs: Sendable {
    /// The watched folder; nil where there is none, so that no program is told.
    let folder: String?

    private var path: String? { folder.map { $0 + "/blocked-pins" } }

    /// The size in bytes above which the file is emptied.
    private static let limit = 1 << 16

    /// - Parameter volatile: the user's folder that is emptied when the machine is switched off.
    init(in volatile: String?) {
        folder = volatile.map { $0 + "/tokenkit-events" }
    }

    /// Tells the watches of other processes that a PIN is blocked.
    func note(reader: String) {
        guard let folder, let path else { return }
        try? Folder(path: folder).make()
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let file = unsafe open(path, flags, KeychainFile.fileMode)
        guard file >= 0 else { return }
        defer { close(file) }
        guard let length = Self.length(of: file) else { return }
        if length > Self.limit { _ = ftruncate(file, 0) }
        let line = Array("\(getpid()) \(String(reader.map { $0.isNewline ? " " : $0 }))\n".utf8)
        _ = unsafe write(file, line, line.count)
    }

    /// The events that other processes have added after a position. Malformed lines are left out.
    func events(after position: inout Int) -> [KeychainEvent] {
        guard let path else { return [] }
        let file = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        guard let length = Self.length(of: file) else { return [] }
        // The file was emptied in between.
        if length < position { position = 0 }
        var bytes = [UInt8](repeating: 0, count: min(length - position, 2 * Self.limit))
        let count = unsafe pread(file, &bytes, bytes.count, position)
        // A line that is being written is read once it is whole.
        guard count > 0, let last = bytes[..<count].lastIndex(of: UInt8(ascii: "\n")) else { return [] }
        position += last + 1
        return bytes[..<last].split(separator: UInt8(ascii: "\n")).compactMap { line in
            let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 1)
            guard parts.count == 2, let process = Int32(String(decoding: parts[0], as: UTF8.self)), process > 0,
                process != getpid()
            else { return nil }
            return KeychainEvent(
                .pinBlocked, location: String(decoding: parts[1], as: UTF8.self), process: process)
        }
    }

    /// The length of the file; nil for one that another user could have written.
    private static func length(of file: Int32) -> Int? {
        var status = stat()
        guard unsafe fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            status.st_mode & 0o022 == 0
        else { return nil }
        return Int(status.st_size)
    }
}
