internal import PKCS11Mechanisms
internal import CCryptoki
internal import SecureBytes
internal import SystemCrypto
internal import Wire

/// A running AES operation with a secret key. PKCS #11 §6.13.
///
/// Each part gives its output at once, except in decryption by GCM, where no output comes before the tag was checked.
struct SecretCipher: ~Copyable {
    private var stream: AESStream?
    private var opening: Opening?
    /// The number of bytes that the counter allows; nil for no limit.
    private var bytesLeft: UInt64?

    /// A message that GCM decrypts at the end.
    private struct Opening: ~Copyable {
        let key: Secret
        let nonce: [UInt8]
        let associatedData: [UInt8]
        let tagLength: Int
        /// The share of the quota for the associated data and the parts.
        let share: QuotaShare
        var sealed: [UInt8] = []

        func outputLength(ofRest count: Int) -> Int { max(sealed.count + count - tagLength, 0) }
    }

    /// The most bytes that GCM decrypts, since the plaintext is sent in one message.
    static let longestSealed = FrameHeader.maximumSecrets

    /// - Throws: `CKR_MECHANISM_INVALID`, `CKR_MECHANISM_PARAM_INVALID`, `CKR_DEVICE_MEMORY`.
    init(
        _ request: MechanismRequest, encrypts: Bool, key: borrowing Secret, _ share: QuotaShare
    ) throws(CryptokiError) {
        let invalid = CryptokiError(CKR_MECHANISM_PARAM_INVALID)
        guard case .cipher(let mode) = try request.use(for: CKF_ENCRYPT) else { throw MechanismRequest.unknown }
        let vector: [UInt8]
        var (associated, tagLength) = ([UInt8](), AESGCM.tagLength)
        switch mode {
        case .cbc, .paddedCBC:
            guard case .bytes(let bytes) = request.parameter else { throw invalid }
            vector = bytes
        case .ctr:
            guard case .counter(let bits, let block) = request.parameter, 1...128 ~= bits, block.count == 16 else {
                throw invalid
            }
            vector = block
            bytesLeft = SecretCipher.bytes(leftBy: block, countingBits: Int(bits))
        case .gcm:
            guard case .gcm(let nonce, let associatedData, let tagBits) = request.parameter,
                let length = AESGCM.tagLengths.first(where: { CK_ULONG($0 * 8) == tagBits }),
                AESGCM.nonceLengths ~= nonce.count
            else { throw invalid }
            guard encrypts else {
                try share.grow(by: associatedData.count)
                opening = Opening(
                    key: key.clone(), nonce: nonce, associatedData: associatedData, tagLength: length,
                    share: share)
                return
            }
            vector = nonce
            associated = associatedData
            tagLength = length
        }
        do throws(CryptoError) {
            stream = try AESStream(
                mode, encrypts: encrypts, key: key, initializationVector: vector, authenticating: associated,
                tagLength: tagLength)
        } catch {
            throw CryptokiError(error, length: CKR_MECHANISM_PARAM_INVALID)
        }
    }

    /// The bytes until a counter of fewer than 128 bits would wrap, and carry into the fixed bits of the block; nil for no limit.
    private static func bytes(leftBy block: [UInt8], countingBits bits: Int) -> UInt64? {
        guard bits < 128 else { return nil }
        var further: UInt64 = 0
        for bit in (0..<bits).reversed() {
            let isSet = block[15 - bit / 8] >> UInt8(bit % 8) & 1 == 1
            // 2^56 blocks or more: no program reaches such a limit.
            if !isSet, bit >= 56 { return nil }
            further = further << 1 | (isSet ? 0 : 1)
        }
        return (further + 1) * 16
    }

    /// The number of bytes that a further part gives.
    func outputLength(ofPart count: Int) -> Int {
        switch stream {
        case .some(let stream): stream.outputLength(ofPart: count)
        case .none: 0
        }
    }

    /// The maximum number of bytes that further data and the end give.
    func outputLength(ofRest count: Int = 0) -> Int {
        switch stream {
        case .some(let stream): return stream.outputLength(ofRest: count)
        case .none: break
        }
        return switch opening {
        case .some(let opening): opening.outputLength(ofRest: count)
        case .none: 0
        }
    }

    /// - Throws: `CKR_DATA_LEN_RANGE`, `CKR_DEVICE_MEMORY`.
    mutating func update(_ part: Span<UInt8>) throws(CryptokiError) -> Secret {
        if let left = bytesLeft {
            guard UInt64(part.count) <= left else {
                throw CryptokiError(CKR_DATA_LEN_RANGE, "the counter has too few bits for so much")
            }
            bytesLeft = left - UInt64(part.count)
        }
        if let former = opening?.sealed.count {
            guard former + part.count <= SecretCipher.longestSealed else { throw CryptokiError(CKR_DATA_LEN_RANGE) }
            try opening?.share.grow(by: part.count)
            for index in part.indices { opening?.sealed.append(part[index]) }
        }
        do throws(CryptoError) {
            return try stream?.update(part) ?? Secret(capacity: 0) { _ in }
        } catch {
            throw CryptokiError(error)
        }
    }

    /// Ends with the rest of the data.
    ///
    /// - Throws: `CKR_DATA_LEN_RANGE`, `CKR_ENCRYPTED_DATA_INVALID`.
    mutating func finish(_ rest: Span<UInt8>) throws(CryptokiError) -> Secret {
        let output = try update(rest)
        do throws(CryptoError) {
            if let opening = opening.take() {
                return try AESGCM.open(
                    opening.sealed, key: opening.key, nonce: opening.nonce, authenticating: opening.associatedData,
                    tagLength: opening.tagLength)
            }
            let last = try stream?.finish() ?? Secret(capacity: 0) { _ in }
            return Secret(joining: output.bytes, last.bytes)
        } catch {
            throw CryptokiError(error)
        }
    }
}
