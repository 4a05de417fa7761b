internal import SecureBytes

/// A key by which a token is told from a copy of all that can be read of it.
public struct ProofKey: Hashable, Sendable {
    public let object: TokenObjectID

    /// The public key as a DER SubjectPublicKeyInfo (RFC 5280 §4.1).
    public let publicKey: [UInt8]

    /// Whether the token signs with it without a PIN, so that it can be challenged before it is given one. Any other key is
    /// only compared with the one that the token tells of, and a copy tells of the same.
    public let canBeChallenged: Bool

    public init(object: TokenObjectID, publicKey: [UInt8], canBeChallenged: Bool) {
        self.object = object
        self.publicKey = publicKey
        self.canBeChallenged = canBeChallenged
    }

    /// Nil for what ``encoded()`` does not make.
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
