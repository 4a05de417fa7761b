internal import KeychainModel
internal import PKCS11Mechanisms
internal import CCryptoki
internal import SystemCrypto

/// The permitted uses and mechanisms of a key.
struct KeyMechanisms: Sendable {
    private(set) var canSign = false
    private(set) var canDecrypt = false
    private(set) var canUnwrap = false
    private(set) var canDerive = false
    private(set) var allowed: [CK_MECHANISM_TYPE] = []

    /// The mechanisms of an object that is not a private key: none.
    init() {}

    private init(_ kind: KeyKind, signs: Bool, decrypts: Bool, unwraps: Bool, derives: Bool) {
        (canSign, canDecrypt, canUnwrap) = (signs && kind != .x25519, decrypts && kind.isRSA, unwraps && kind.isRSA)
        canDerive = derives && !kind.isRSA && kind != .ed25519
        if canSign { allowed += MechanismTable.types(for: CKF_SIGN, of: kind) }
        if canDecrypt || canUnwrap {
            allowed += MechanismTable.types(for: CKF_DECRYPT, of: kind).filter { !allowed.contains($0) }
        }
        if canDerive { allowed += MechanismTable.types(for: CKF_DERIVE, of: kind) }
    }

    /// The mechanisms of a key with an item's attributes.
    init(_ kind: KeyKind, _ attribute: (Attribute) -> AttributeValue?) {
        func can(_ use: Attribute) -> Bool { attribute(use)?.isTrue ?? true }
        // Unwrapping a key that can then be read amounts to decryption: an item without `canUnwrap` follows `canDecrypt`.
        let unwraps = attribute(.canUnwrap)?.isTrue ?? can(.canDecrypt)
        self.init(
            kind, signs: can(.canSign), decrypts: can(.canDecrypt), unwraps: unwraps, derives: can(.canDerive))
    }

    /// The uses of a public key, and the item's attributes that permit them.
    static let publicUses: [(CK_ATTRIBUTE_TYPE, Attribute)] = [
        (CKA_ENCRYPT, .canEncrypt), (CKA_VERIFY, .canVerify), (CKA_WRAP, .canWrap), (CKA_DERIVE, .canDerive),
    ]

    var attributes: ObjectAttributes.Attributes {
        [
            CKA_SIGN: Encoded.bool(canSign), CKA_DECRYPT: Encoded.bool(canDecrypt),
            CKA_UNWRAP: Encoded.bool(canUnwrap), CKA_DERIVE: Encoded.bool(canDerive),
            CKA_ALLOWED_MECHANISMS: Encoded.ulongs(allowed),
        ]
    }
}
