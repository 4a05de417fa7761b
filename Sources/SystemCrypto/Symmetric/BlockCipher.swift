public import SecureBytes

/// The ciphers of a card's management key, applied to single blocks without chaining or padding (SP 800-78-5 §3.3).
public enum BlockCipher: Sendable, Hashable, CaseIterable {
    case tripleDES, aes128, aes192, aes256

    /// Length of a key in bytes.
    public var keyLength: Int {
        switch self {
        case .aes128: 16
        case .tripleDES, .aes192: 24
        case .aes256: 32
        }
    }

    /// Length of a block in bytes.
    public var blockLength: Int {
        self == .tripleDES ? 8 : 16
    }

    /// Encrypts whole blocks, each separately.
    ///
    /// - Throws: `invalidLength` for a key of another length or input that is not whole blocks.
    public func encrypt(_ blocks: [UInt8], key: borrowing Secret) throws(CryptoError) -> [UInt8] {
        try process(blocks, .encrypt, key: key)
    }

    /// Decrypts whole blocks, each separately.
    ///
    /// - Throws: `invalidLength` for a key of another length or input that is not whole blocks.
    public func decrypt(_ blocks: [UInt8], key: borrowing Secret) throws(CryptoError) -> [UInt8] {
        try process(blocks, .decrypt, key: key)
    }

    private var name: String {
        switch self {
        case .tripleDES: "DES-EDE3-ECB"
        case .aes128: "AES-128-ECB"
        case .aes192: "AES-192-ECB"
        case .aes256: "AES-256-ECB"
        }
    }

    private func process(
        _ blocks: [UInt8], _ direction: CipherContext.Direction, key: borrowing Secret
    ) throws(CryptoError) -> [UInt8] {
        guard blocks.count.isMultiple(of: blockLength) else { throw CryptoError(.invalidLength, name) }
        let context = try CipherContext(name, direction, key: key)
        return try unsafe [UInt8](capacity: blocks.count, name) { _, start, count in
            unsafe context.finish(blocks.span, into: start) == count
        }
    }
}
