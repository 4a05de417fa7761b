/// A host's request to a worker. A PIN goes beside it, in memory that is wiped.
enum ModuleRequest: Hashable {
    /// The present tokens: `[ModuleTokenInfo]`.
    case tokens
    /// The token in a slot, if it is still present: `ModuleTokenInfo`.
    case token(slot: UInt64)
    /// The visible objects of a token, which are more after a login: `[ModuleObject]`.
    case objects(slot: UInt64)
    /// Presents the PIN; without one the token asks for it by itself.
    case logIn(slot: UInt64)
    case logOut(slot: UInt64)
    /// Uses a key, after presenting the PIN, or letting the token ask for it. The answer's secret is the result.
    case perform(slot: UInt64, KeyUse, isTyped: Bool)
}

/// The use of a key, in the words of PKCS #11.
struct KeyUse: Hashable {
    enum Kind: UInt8 {
        case sign, decrypt, derive
    }

    let kind: Kind
    /// The key's `CKA_ID`, or its `CKA_LABEL` where it has none.
    let id: [UInt8]
    let label: [UInt8]
    /// The DER of the key's `SubjectPublicKeyInfo`, which tells the key from others of its id.
    let publicKey: [UInt8]
    /// The mechanisms that can do the operation. The first that the token offers is used.
    let candidateMechanisms: [KeyMechanism]
    /// Bytes of a derived secret.
    var length: UInt64 = 0
}

/// A mechanism with its parameters.
struct KeyMechanism: Hashable {
    let mechanism: UInt64
    /// The bytes to be signed or decrypted, or the other side's public key.
    let input: [UInt8]
    /// The hash function of PSS and OAEP, for the mask as well: `CKM_…` and `CKG_…`.
    var digest: UInt64 = 0
    var mask: UInt64 = 0
    /// Bytes of the salt of PSS.
    var saltLength: UInt64 = 0
}

extension ModuleRequest: MessageField {
    func write(to fields: inout FieldWriter) {
        switch self {
        case .tokens: fields.write(UInt8(1))
        case .token(let slot): fields.write(2, slot)
        case .objects(let slot): fields.write(3, slot)
        case .logIn(let slot): fields.write(4, slot)
        case .logOut(let slot): fields.write(5, slot)
        case .perform(let slot, let use, let isTyped):
            fields.write(isTyped ? 7 : 6, slot)
            use.write(to: &fields)
        }
    }

    init(from fields: inout FieldReader) throws(MalformedMessage) {
        let kind = try fields.byte()
        guard kind != 1 else {
            self = .tokens
            return
        }
        let slot = try fields.number()
        switch kind {
        case 2: self = .token(slot: slot)
        case 3: self = .objects(slot: slot)
        case 4: self = .logIn(slot: slot)
        case 5: self = .logOut(slot: slot)
        case 6, 7: self = .perform(slot: slot, try KeyUse(from: &fields), isTyped: kind == 7)
        default: throw MalformedMessage()
        }
    }
}

extension FieldWriter {
    fileprivate mutating func write(_ kind: UInt8, _ slot: UInt64) {
        write(kind)
        write(slot)
    }
}

extension KeyUse: MessageField {
    func write(to fields: inout FieldWriter) {
        fields.write(kind.rawValue)
        fields.write(id)
        fields.write(label)
        fields.write(publicKey)
        fields.write(candidateMechanisms)
        fields.write(length)
    }

    init(from fields: inout FieldReader) throws(MalformedMessage) {
        guard let kind = Kind(rawValue: try fields.byte()) else { throw MalformedMessage() }
        self.init(
            kind: kind, id: try fields.string(), label: try fields.string(), publicKey: try fields.string(),
            candidateMechanisms: try fields.values(KeyMechanism.self), length: try fields.number())
        guard (1...Int(UInt8.max)).contains(candidateMechanisms.count) else { throw MalformedMessage() }
    }
}

extension KeyMechanism: MessageField {
    func write(to fields: inout FieldWriter) {
        fields.write(mechanism)
        fields.write(input)
        for number in [digest, mask, saltLength] { fields.write(number) }
    }

    init(from fields: inout FieldReader) throws(MalformedMessage) {
        self.init(
            mechanism: try fields.number(), input: try fields.string(), digest: try fields.number(),
            mask: try fields.number(), saltLength: try fields.number())
    }
}
