internal import KeychainStore
internal import Glibc
public import Platform
internal import SecureBytes
internal import SystemCrypto
public import TokenKit

/// Remembers facts about tokens in files of a folder of the user's own.
///
/// A failure to read or write is not an error: nothing is remembered then. Content that another user could have written
/// is not used: the folder and its files must belong to this user, and no one else may write to them; with a key, each
/// file has an authentication code as well, so that a folder that was copied, restored or damaged yields nothing.
/// Programs of this user can still change what is remembered, so each driver decides how far to trust it: PIV uses a
/// remembered certificate if the first part of the card's answer is the same, without reading the rest, which may have
/// the public key in it; it uses a remembered key until a signature shows that the card has another.
public struct FileTokenMemory: TokenMemory {
    /// The most bytes that are remembered of one token, for facts and for certificates.
    static let standardLimit = 4096
    static let certificateLimit = 1 << 18

    /// The most tokens that ``all()`` reads.
    static let maximumCount = 256

    private static let keyLength = 32
    private static let codeLength = 32

    private let directory: String
    private let recalls: Bool
    private let limit: Int
    private let keyFile: String?

    /// - Parameters:
    ///   - directory: made with mode 0700 when something is first remembered.
    ///   - recalls: false to ignore what is remembered, and remember it anew.
    ///   - limit: the most bytes that are remembered of one token.
    ///   - keyFile: where the key of the authentication codes is, outside of the folder; made when it is first needed.
    init(
        directory: String, recalls: Bool = true, limit: Int = FileTokenMemory.standardLimit, keyFile: String? = nil
    ) {
        self.directory = directory
        self.recalls = recalls
        self.limit = limit
        self.keyFile = keyFile
    }

    public func recall(_ token: TokenID) -> [UInt8]? {
        name(of: token).flatMap { recall(named: $0) }
    }

    public func remember(_ bytes: [UInt8], for token: TokenID) {
        guard (1...limit).contains(bytes.count), let name = name(of: token) else { return }
        guard (try? Folder(path: directory).make()) != nil, OwnFile.isOwnFolder(directory),
            let code = code(of: bytes, named: name, makingKey: true)
        else { return }
        let content = code + bytes
        try? AtomicFile.replace("\(directory)/\(name)", with: content.span, isLasting: false)
    }

    public func all() -> [[UInt8]] {
        guard recalls, OwnFile.isOwnFolder(directory) else { return [] }
        let names = OwnFile.names(in: directory, limit: FileTokenMemory.maximumCount).sorted()
        return names.compactMap { recall(named: $0) }
    }

    private func recall(named name: String) -> [UInt8]? {
        guard recalls, OwnFile.isOwnFolder(directory) else { return nil }
        let room = limit + (keyFile == nil ? 0 : FileTokenMemory.codeLength)
        guard let content = OwnFile.read("\(directory)/\(name)", limit: room) else { return nil }
        guard keyFile != nil else { return content }
        let bytes = Array(content.dropFirst(FileTokenMemory.codeLength))
        guard !bytes.isEmpty, let code = code(of: bytes, named: name, makingKey: false),
            ConstantTime.isEqual(code, Array(content.prefix(FileTokenMemory.codeLength)))
        else { return nil }
        return bytes
    }

    /// The authentication code of a file's content; empty without a key, nil where the key cannot be read.
    private func code(of bytes: [UInt8], named name: String, makingKey: Bool) -> [UInt8]? {
        guard let keyFile else { return [] }
        if makingKey, let key = try? RandomBytes.make(count: FileTokenMemory.keyLength) {
            guard (try? Folder(of: keyFile).make()) != nil else { return nil }
            try? AtomicFile.create(keyFile, with: key.span, isLasting: false)
        }
        guard var key = OwnFile.read(keyFile, limit: FileTokenMemory.keyLength),
            key.count == FileTokenMemory.keyLength
        else { return nil }
        return try? HMAC.code(for: Array(name.utf8) + bytes, key: Secret(consuming: &key))
    }

    /// A hash, so that no name a card gives can leave the folder or be too long for it.
    private func name(of token: TokenID) -> String? {
        (try? Digest.hash(Array(token.description.utf8), using: .sha256)).map { Hex.encode($0) }
    }
}

/// The folders in which drivers remember what they read of cards, and the user's settings for it.
public struct TokenCaches: Sendable {
    /// Facts about tokens.
    public let tokens: FileTokenMemory
    public let certificates: FileTokenMemory
    /// The PINs that cards refused; nil where the user has no folder that is emptied when the machine is switched off.
    public let rejectedPINs: FileTokenMemory?
    /// Whether a card has to prove, before it gets a PIN, that it holds the key that identifies it.
    public let provesBeforePIN: @Sendable () -> Bool

    /// - Parameter recalls: false to ignore what is remembered, and remember it anew.
    public init(
        in directories: Directories, recalls: Bool = true,
        provesBeforePIN: @escaping @Sendable () -> Bool = { false }
    ) {
        self.provesBeforePIN = provesBeforePIN
        tokens = FileTokenMemory(directory: directories.cache + "/tokens", recalls: recalls)
        certificates = FileTokenMemory(
            directory: directories.cache + "/certificates", recalls: recalls, limit: FileTokenMemory.certificateLimit,
            keyFile: directories.data + "/cache.key")
        rejectedPINs = directories.volatile.map { FileTokenMemory(directory: $0 + "/tokenkit-rejected-pins") }
    }
}
