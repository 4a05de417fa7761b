internal import KeychainModel
internal import Localization
internal import SystemCrypto

/// The public key's part of Apple's algorithms, wherever the private half is.
extension PublicKey {
    /// Whether the algorithm can be used with this key.
    func isSupported(_ algorithm: KeyAlgorithm, for operation: KeyOperation) -> Bool {
        guard algorithm.suits(kind) else { return false }
        return switch (operation, algorithm) {
        case (.verify, .signature), (.verify, .messageSignature), (.encrypt, .encryption), (.encrypt, .rsaHybrid),
            (.encrypt, .ecies):
            true
        default: false
        }
    }

    /// Whether a signature is this key's over a message or a digest, as the algorithm says.
    ///
    /// - Throws: `errSecParam` for an algorithm that is not this key's, or a digest of the wrong length.
    func verify(
        _ signature: [UInt8], of input: [UInt8], using algorithm: KeyAlgorithm
    ) throws(KeychainError) -> Bool {
        guard isSupported(algorithm, for: .verify) else { throw algorithm.isNot(for: .verify, kind) }
        return try KeychainError.mapping { () throws(CryptoError) in
            switch algorithm {
            case .signature(let signatureAlgorithm):
                try verify(signature, of: input, using: signatureAlgorithm)
            case .messageSignature(let signatureAlgorithm):
                try verify(signature, message: input, using: signatureAlgorithm)
            default: false
            }
        }
    }

    /// Encrypts for the private half.
    ///
    /// - Parameter sharedInfo: for ECIES, data that both sides know besides their keys.
    /// - Throws: `errSecParam` for an algorithm that is not this key's, or a plaintext that does not fit.
    func encrypt(
        _ plaintext: Span<UInt8>, using algorithm: KeyAlgorithm, sharedInfo: [UInt8] = []
    ) throws(KeychainError) -> [UInt8] {
        guard isSupported(algorithm, for: .encrypt) else { throw algorithm.isNot(for: .encrypt, kind) }
        try algorithm.checkTakes(sharedInfo)
        try checkFits(plaintext.count, algorithm)
        do throws(CryptoError) {
            switch algorithm {
            case .encryption(let encryption): return try encrypt(plaintext, using: encryption)
            case .rsaHybrid(let digest): return try Hybrid.seal(plaintext, for: self, using: digest)
            case .ecies(_, let digest, let vector):
                return try Hybrid.seal(
                    plaintext, for: self, KeyExchangeParameters(sharedInfo: sharedInfo), using: digest, vector)
            default: throw CryptoError(.unsupported, "\(algorithm)")
            }
        } catch {
            throw KeychainError(error)
        }
    }

    /// The longest plaintext in bytes, RFC 8017 §7; nil for no limit.
    func maximumPlaintextLength(_ algorithm: KeyAlgorithm) -> Int? {
        if case .encryption(let encryption) = algorithm {
            encryption.maximumLength(modulusLength: blockLength)
        } else {
            nil
        }
    }

    /// - Throws: `errSecParam` for an RSA ciphertext that is not as long as the modulus, RFC 8017 §7.
    func checkLength(ofCiphertext count: Int) throws(KeychainError) {
        guard kind.isRSA, count != blockLength else { return }
        throw KeychainError(
            .param,
            "the input is not encrypted for this key: a ciphertext of a key of kind \(kind) has \(blockLength) bytes, and the input has \(count)"
        )
    }

    private func checkFits(_ count: Int, _ algorithm: KeyAlgorithm) throws(KeychainError) {
        guard let limit = maximumPlaintextLength(algorithm), count > limit else { return }
        throw KeychainError(
            .param,
            "the message has \(count) bytes, and a key of kind \(kind) encrypts at most \(limit) with \(algorithm)")
    }
}
