internal import Glibc
public import TokenKit

/// Remembers facts about tokens in files of a folder of the user's own.
///
/// What cannot be read or written is simply not remembered.
public struct FileTokenMemory: TokenMemory {
    /// Bytes that are remembered of one token at the most.
    static let maximumLength = 4096

    private let directory: String
    private let recalls: Bool

    /// - Parameters:
    ///   - directory: made with mode 0700 when something is first remembered.
    ///   - recalls: false to have everything found out, and remembered, anew.
    public init(directory: String, recalls: Bool = true) {
        self.directory = directory
        self.recalls = recalls
    }

    public func recall(_ token: TokenID) -> [UInt8]? {
        guard recalls else { return nil }
        let descriptor = unsafe open(path(for: token), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: FileTokenMemory.maximumLength)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        return count > 0 ? Array(bytes.prefix(count)) : nil
    }

    public func remember(_ bytes: [UInt8], for token: TokenID) {
        guard bytes.count <= FileTokenMemory.maximumLength else { return }
        makeDirectory()
        let path = path(for: token)
        let temporary = path + ".\(getpid())"
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return }
        let written = unsafe bytes.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
        if written == bytes.count, unsafe rename(temporary, path) == 0 { return }
        _ = unsafe unlink(temporary)
    }

    private func path(for token: TokenID) -> String {
        // Hexadecimal, so that no name a card gives can leave the folder.
        "\(directory)/\(Hex.encode(token.description.utf8.prefix(100)))"
    }

    private func makeDirectory() {
        var path = ""
        for part in directory.split(separator: "/") {
            path += "/\(part)"
            _ = unsafe mkdir(path, 0o700)
        }
    }
}
