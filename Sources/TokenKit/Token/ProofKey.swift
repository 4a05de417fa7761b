internal import SecureBytes

/// A key that tells a token from a copy of all its readable data.
public struct ProofKey: Hashable, Sendable {
    public let object: TokenObjectID

    /// The public key as a DER SubjectPublicKeyInfo (RFC 5280 §4.1).
    public let publicKey: [UInt8]

    /// Whether the token signs with the key without a PIN, so that it can be challenged before it gets the PIN. Any other key is
    /// only compared with the public key that the token shows, which a copy shows too.
    public let canBeChallenged: Bool

    public init(object: TokenObjectID, publicKey: [UInt8], canBeChallenged: Bool) {
        self.object = object
        self.publicKey = publicKey
        self.canBeChallenged = canBeChallenged
    }

    /// Nil for bytes that ``encoded()`` does not make.
    public init?(parsing bytes: [UInt8]) {
        var reader = TLVReader(bytes)
        guard let fields = try? reader.all(), fields.map(\.tag) == [0x80, 0x81, 0x82],
            let object = String(validating: fields[0].value, as: UTF8.self), !object.isEmpty, !fields[1].value.isEmpty,
            fields[2].value == [0] || fields[2].value == [1]
        else { return nil }
        self.init(
            object: TokenObjectID(object), publicKey: fields[1].value, canBeChallenged: fields[2].value == [1])
    }

    ///     80 name of the object · 81 SubjectPublicKeyInfo · 82 whether it can be challenged
    public func encoded() -> [UInt8] {
        let fields = [
            TLV(0x80, Array(object.rawValue.utf8)), TLV(0x81, publicKey), TLV(0x82, [canBeChallenged ? 1 : 0]),
        ]
        return fields.flatMap { $0.encoded() }
    }
}
