internal import FoundationEssentials
internal import Glibc
internal import KeychainHost

/// The drivers of cards that are not to be used: a name a line in a file of the user's.
struct DisabledDrivers {
    private(set) var names: Set<String> = []

    private static var folder: String { Directories.own.configuration }
    private static var file: String { folder + "/disabled-drivers" }

    init() throws {
        guard unsafe access(DisabledDrivers.file, F_OK) == 0 else { return }
        let text = String(decoding: try Input(DisabledDrivers.file).whole(limit: 1 << 16), as: UTF8.self)
        names = Set(text.split(whereSeparator: \.isNewline).map(String.init))
    }

    /// Changes the names and the file.
    mutating func change(_ body: (inout Set<String>) throws -> Void) throws {
        try body(&names)
        try FileManager.default.createDirectory(
            atPath: DisabledDrivers.folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let text = names.sorted().map { $0 + "\n" }.joined()
        try Output(path: DisabledDrivers.file).write(Array(text.utf8), mode: 0o600)
    }
}
