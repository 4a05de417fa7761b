public import SecureBytes

/// AES over data in parts, SP 800-38A. Keys have 16, 24 or 32 bytes.
public struct AESStream: ~Copyable {
    public enum Mode: Sendable, Hashable {
        /// Chained blocks. The input consists of whole blocks.
        case cbc
        /// Chained blocks with padding of the last one, RFC 5652 §6.3.
        case paddedCBC
        /// A counter that fills the whole block.
        case ctr
        /// Galois/Counter Mode (SP 800-38D), for encryption only: a plaintext must not be returned before its tag was checked, as
        /// ``AESGCM`` does. The tag comes at the end.
        case gcm

        fileprivate var name: String {
            switch self {
            case .cbc, .paddedCBC: "CBC"
            case .ctr: "CTR"
            case .gcm: "GCM"
            }
        }
    }

    private let mode: Mode
    private let encrypts: Bool
    private let tagLength: Int
    private let context: CipherContext
    /// The number of input bytes without output yet.
    private var held = 0

    /// - Parameters:
    ///   - initializationVector: 16 bytes; of GCM, a nonce.
    ///   - associatedData: the data that GCM authenticates beside the message.
    ///   - tagLength: bytes of GCM's tag.
    /// - Throws: `invalidLength` for a key, a vector or a tag of another length, `unsupported` for decryption with GCM.
    public init(
        _ mode: Mode, encrypts: Bool, key: borrowing Secret, initializationVector: [UInt8],
        authenticating associatedData: [UInt8] = [], tagLength: Int = AESGCM.tagLength
    ) throws(CryptoError) {
        guard mode != .gcm || encrypts else { throw CryptoError(.unsupported, "AES-GCM in parts") }
        guard [16, 24, 32].contains(key.count), AESGCM.tagLengths.contains(tagLength) else {
            throw CryptoError(.invalidLength, "AES-\(mode.name)")
        }
        let name = "AES-\(key.count * 8)-\(mode.name)"
        let context = try CipherContext(
            name, encrypts ? .encrypt : .decrypt, key: key, initializationVector: initializationVector,
            pads: mode == .paddedCBC, authenticating: associatedData)
        self.mode = mode
        self.encrypts = encrypts
        self.tagLength = tagLength
        self.context = context
    }

    /// The number of bytes that a further part gives.
    public func outputLength(ofPart count: Int) -> Int {
        let whole = held + count
        return switch mode {
        case .cbc: whole / 16 * 16
        // The last block is held back where it may be the padded one.
        case .paddedCBC: encrypts ? whole / 16 * 16 : max(whole - 1, 0) / 16 * 16
        case .ctr, .gcm: whole
        }
    }

    /// The number of bytes that further input and the end give; where padding is removed, the maximum.
    public func outputLength(ofRest count: Int = 0) -> Int {
        let whole = held + count
        return switch mode {
        case .cbc, .ctr: whole
        case .paddedCBC: encrypts ? whole / 16 * 16 + 16 : whole
        case .gcm: whole + tagLength
        }
    }

    /// Processes a part, and returns its output.
    public mutating func update(_ part: Span<UInt8>) throws(CryptoError) -> Secret {
        let output = try context.update(part)
        held += part.count - output.count
        return output
    }

    /// The last block, or the tag.
    ///
    /// - Throws: `invalidLength` for input that is not whole blocks; `decryptionFailed` for invalid padding.
    public func finish() throws(CryptoError) -> Secret {
        let isWhole = held % 16 == 0
        switch mode {
        case .cbc:
            guard isWhole else { throw CryptoError(.invalidLength, "AES-CBC") }
            return try context.finish()
        case .paddedCBC:
            if !encrypts {
                guard isWhole, held > 0 else { throw CryptoError(.invalidLength, "AES-CBC") }
            }
            return try context.finish()
        case .ctr: return try context.finish()
        case .gcm:
            _ = try context.finish()
            let tag = try context.tag(count: tagLength)
            return Secret(copying: tag.span)
        }
    }
}
