internal import SecureBytes

/// AES-GCM under a key that is encrypted by RSA-OAEP, or agreed on with an ephemeral key pair of the message: the
/// formats of Apple's `…AESGCM` algorithms.
package enum Hybrid {
    /// Length of AES-GCM's initialisation vector here, in bytes.
    static let vectorLength = 16

    /// A message: the part with the encrypted or ephemeral key, and the sealed part.
    struct Message {
        let key: [UInt8]
        let sealed: [UInt8]
    }

    /// Splits a message that was encrypted for `key`.
    static func split(_ message: [UInt8], for key: PublicKey, _ algorithm: KeyAlgorithm) throws(CryptoError) -> Message
    {
        var length = key.blockLength
        if case .ecies = algorithm { length = 1 + 2 * length }
        guard message.count >= length + AESGCM.tagLength else {
            throw CryptoError(.invalidLength, "message of \(message.count) bytes")
        }
        return Message(key: Array(message.prefix(length)), sealed: Array(message.dropFirst(length)))
    }

    // MARK: - RSA

    /// Seals a message for an RSA key.
    package static func seal(
        _ plaintext: Span<UInt8>, for key: PublicKey, using digest: DigestAlgorithm
    ) throws(CryptoError) -> [UInt8] {
        let sessionKey = try RandomBytes.makeSecret(count: key.kind.bits ?? 0 < 4096 ? 16 : 32)
        let wrapped = try key.encrypt(sessionKey.bytes, using: .oaep(digest))
        return wrapped
            + (try AESGCM.seal(
                plaintext, key: sessionKey, nonce: zeroVector, authenticating: key.rawRepresentation))
    }

    static func open(
        _ sealed: [UInt8], sessionKey: borrowing Secret, for key: PublicKey
    ) throws(CryptoError) -> Secret {
        try AESGCM.open(sealed, key: sessionKey, nonce: zeroVector, authenticating: key.rawRepresentation)
    }

    // MARK: - ECIES

    /// Seals a message for a key on a curve.
    package static func seal(
        _ plaintext: Span<UInt8>, for key: PublicKey, _ parameters: KeyExchangeParameters,
        using digest: DigestAlgorithm, _ vector: KeyAlgorithm.InitializationVector
    ) throws(CryptoError) -> [UInt8] {
        let ephemeral = try PrivateKey.generate(key.kind)
        let point = ephemeral.publicKey.rawRepresentation
        let derived = try Hybrid.parameters(parameters, ephemeral: point, for: key, vector)
            .derive(from: ephemeral.sharedSecret(with: key), using: digest)
        return point
            + (try AESGCM.seal(plaintext, key: aesKey(of: derived, vector), nonce: nonce(of: derived, vector)))
    }

    static func open(
        _ sealed: [UInt8], derived: borrowing Secret, _ vector: KeyAlgorithm.InitializationVector
    ) throws(CryptoError) -> Secret {
        try AESGCM.open(sealed, key: aesKey(of: derived, vector), nonce: nonce(of: derived, vector))
    }

    /// AES-128 up to P-256, AES-256 above; the point of the message's key is part of the shared information.
    static func parameters(
        _ parameters: KeyExchangeParameters, ephemeral: [UInt8], for key: PublicKey,
        _ vector: KeyAlgorithm.InitializationVector
    ) -> KeyExchangeParameters {
        let keyLength = key.blockLength > 32 ? 32 : 16
        return KeyExchangeParameters(
            requestedSize: keyLength + (vector == .derived ? vectorLength : 0),
            sharedInfo: ephemeral + parameters.sharedInfo)
    }

    private static func aesKey(of derived: borrowing Secret, _ vector: KeyAlgorithm.InitializationVector) -> Secret {
        Secret(copying: derived.bytes.extracting(droppingLast: vector == .derived ? vectorLength : 0))
    }

    private static func nonce(of derived: borrowing Secret, _ vector: KeyAlgorithm.InitializationVector) -> [UInt8] {
        guard vector == .derived else { return zeroVector }
        let bytes = derived.bytes.extracting(last: vectorLength)
        return bytes.indices.map { bytes[$0] }
    }

    private static let zeroVector = [UInt8](repeating: 0, count: vectorLength)
}
