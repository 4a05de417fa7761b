internal import Glibc
internal import SystemCrypto
public import TokenKit

/// Remembers facts about tokens in files of a folder of the user's own.
///
/// What cannot be read or written is simply not remembered. What anybody else could have written is not believed: the
/// folder and its files must be this user's, and nobody else's to write. Whoever can write as this user could hide
/// objects of a card from a listing, and no more: what is remembered never stands in for what the card says.
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
        guard recalls, isOwn(directory), let name = name(of: token) else { return nil }
        // A pipe put in its place must not keep anybody waiting.
        let descriptor = unsafe open("\(directory)/\(name)", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var information = stat()
        guard unsafe fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG,
            FileTokenMemory.isOwn(information), (1...FileTokenMemory.maximumLength).contains(Int(information.st_size))
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(information.st_size))
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        return count == bytes.count ? bytes : nil
    }

    public func remember(_ bytes: [UInt8], for token: TokenID) {
        guard (1...FileTokenMemory.maximumLength).contains(bytes.count), let name = name(of: token) else { return }
        makeDirectory()
        guard isOwn(directory) else { return }
        let temporary = "\(directory)/.\(UniqueID())"
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return }
        let written = unsafe bytes.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
        if written == bytes.count, unsafe rename(temporary, "\(directory)/\(name)") == 0 { return }
        _ = unsafe unlink(temporary)
    }

    /// A hash, so that no name a card gives can leave the folder or be too long for it.
    private func name(of token: TokenID) -> String? {
        (try? Digest.hash(Array(token.description.utf8), using: .sha256)).map { Hex.encode($0) }
    }

    /// Whether it is a folder that only this user can put files in.
    private func isOwn(_ path: String) -> Bool {
        var information = stat()
        return unsafe lstat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFDIR
            && FileTokenMemory.isOwn(information)
    }

    private static func isOwn(_ information: stat) -> Bool {
        information.st_uid == geteuid() && information.st_mode & (S_IWGRP | S_IWOTH) == 0
    }

    private func makeDirectory() {
        var path = directory.hasPrefix("/") ? "" : "."
        for part in directory.split(separator: "/") {
            path += "/\(part)"
            _ = unsafe mkdir(path, 0o700)
        }
    }
}
