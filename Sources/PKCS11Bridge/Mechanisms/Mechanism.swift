package import CCryptoki
internal import KeychainHost
internal import SystemCrypto
internal import TokenKit

/// A mechanism of a token, as `C_GetMechanismInfo` tells of it.
package struct Mechanism: Sendable {
    package let type: CK_MECHANISM_TYPE
    /// In bits, and of secret keys in bytes, save of those that `CKM_GENERIC_SECRET_KEY_GEN` makes; nil where there is no key.
    package let keySizes: ClosedRange<Int>?
    package let flags: CK_FLAGS

    init(_ type: CK_MECHANISM_TYPE, _ keySizes: ClosedRange<Int>?, _ flags: CK_FLAGS) {
        self.type = type
        self.keySizes = keySizes
        self.flags = flags
    }
}

/// A mechanism that a program asks for, with its parameter. The pointers of C are gone from it.
package struct MechanismRequest: Sendable {
    package enum Parameter: Sendable {
        case none
        case pss(hash: CK_MECHANISM_TYPE, mgf: CK_ULONG, saltLength: CK_ULONG)
        case oaep(hash: CK_MECHANISM_TYPE, mgf: CK_ULONG, label: [UInt8])
        case agreement(kdf: CK_ULONG, sharedInfo: [UInt8], publicData: [UInt8])
        /// `CK_AES_CTR_PARAMS`: how many bits of the block count.
        case counter(bits: CK_ULONG, block: [UInt8])
        /// `CK_GCM_PARAMS`.
        case gcm(nonce: [UInt8], associatedData: [UInt8], tagBits: CK_ULONG)
        /// `CK_MAC_GENERAL_PARAMS`: bytes of a code.
        case codeLength(CK_ULONG)
        /// An initialisation vector, or what no mechanism here has a use for.
        case bytes([UInt8])
    }

    package let type: CK_MECHANISM_TYPE
    package let parameter: Parameter

    package init(_ type: CK_MECHANISM_TYPE, _ parameter: Parameter = .none) {
        self.type = type
        self.parameter = parameter
    }

    /// - Throws: `CKR_MECHANISM_PARAM_INVALID` where there is a parameter.
    func requireNoParameter() throws(CryptokiError) {
        guard case .none = parameter else { throw CryptokiError(CKR_MECHANISM_PARAM_INVALID) }
    }

    static let unknown = CryptokiError(CKR_MECHANISM_INVALID)
}

extension DigestAlgorithm {
    /// The mechanism that digests with it.
    init?(mechanism: CK_MECHANISM_TYPE) {
        switch mechanism {
        case CKM_SHA_1: self = .sha1
        case CKM_SHA224: self = .sha224
        case CKM_SHA256: self = .sha256
        case CKM_SHA384: self = .sha384
        case CKM_SHA512: self = .sha512
        default: return nil
        }
    }

    var mechanism: CK_MECHANISM_TYPE {
        switch self {
        case .sha1: CKM_SHA_1
        case .sha224: CKM_SHA224
        case .sha256: CKM_SHA256
        case .sha384: CKM_SHA384
        case .sha512: CKM_SHA512
        }
    }

    /// The hash function of a mask generation function. PKCS #11 §6.1.7.
    init?(mgf: CK_ULONG) {
        switch mgf {
        case CKG_MGF1_SHA1: self = .sha1
        case CKG_MGF1_SHA224: self = .sha224
        case CKG_MGF1_SHA256: self = .sha256
        case CKG_MGF1_SHA384: self = .sha384
        case CKG_MGF1_SHA512: self = .sha512
        default: return nil
        }
    }

    /// The hash function of a key derivation by X9.63. PKCS #11 §6.3.16.
    init?(kdf: CK_ULONG) {
        switch kdf {
        case CKD_SHA1_KDF: self = .sha1
        case CKD_SHA224_KDF: self = .sha224
        case CKD_SHA256_KDF: self = .sha256
        case CKD_SHA384_KDF: self = .sha384
        case CKD_SHA512_KDF: self = .sha512
        default: return nil
        }
    }
}

/// What the tokens of this module do.
enum MechanismTable {
    /// By which a mechanism signs, with the hash function it applies.
    static let signatures: [(type: CK_MECHANISM_TYPE, form: SignatureForm, digest: DigestAlgorithm?)] = [
        (CKM_RSA_PKCS, .rsaPKCS1, nil), (CKM_RSA_X_509, .rsaRaw, nil), (CKM_RSA_PKCS_PSS, .rsaPSS, nil),
        (CKM_SHA1_RSA_PKCS, .rsaPKCS1, .sha1), (CKM_SHA224_RSA_PKCS, .rsaPKCS1, .sha224),
        (CKM_SHA256_RSA_PKCS, .rsaPKCS1, .sha256), (CKM_SHA384_RSA_PKCS, .rsaPKCS1, .sha384),
        (CKM_SHA512_RSA_PKCS, .rsaPKCS1, .sha512), (CKM_SHA1_RSA_PKCS_PSS, .rsaPSS, .sha1),
        (CKM_SHA224_RSA_PKCS_PSS, .rsaPSS, .sha224), (CKM_SHA256_RSA_PKCS_PSS, .rsaPSS, .sha256),
        (CKM_SHA384_RSA_PKCS_PSS, .rsaPSS, .sha384), (CKM_SHA512_RSA_PKCS_PSS, .rsaPSS, .sha512),
        (CKM_ECDSA, .ecdsa, nil), (CKM_ECDSA_SHA1, .ecdsa, .sha1), (CKM_ECDSA_SHA224, .ecdsa, .sha224),
        (CKM_ECDSA_SHA256, .ecdsa, .sha256), (CKM_ECDSA_SHA384, .ecdsa, .sha384), (CKM_ECDSA_SHA512, .ecdsa, .sha512),
        (CKM_EDDSA, .ed25519, nil),
    ]

    static let ciphers: [CK_MECHANISM_TYPE] = [CKM_RSA_PKCS, CKM_RSA_X_509, CKM_RSA_PKCS_OAEP]
    static let agreements: [CK_MECHANISM_TYPE] = [CKM_ECDH1_DERIVE, CKM_ECDH1_COFACTOR_DERIVE]

    /// By which a secret key makes codes of a digest's length, or of one that the program chooses; and the keys for it alone.
    static let codes: [CodeRow] = [
        (CKM_SHA_1_HMAC, CKM_SHA_1_HMAC_GENERAL, CKK_SHA_1_HMAC, .sha1),
        (CKM_SHA224_HMAC, CKM_SHA224_HMAC_GENERAL, CKK_SHA224_HMAC, .sha224),
        (CKM_SHA256_HMAC, CKM_SHA256_HMAC_GENERAL, CKK_SHA256_HMAC, .sha256),
        (CKM_SHA384_HMAC, CKM_SHA384_HMAC_GENERAL, CKK_SHA384_HMAC, .sha384),
        (CKM_SHA512_HMAC, CKM_SHA512_HMAC_GENERAL, CKK_SHA512_HMAC, .sha512),
    ]
    typealias CodeRow = (
        type: CK_MECHANISM_TYPE, general: CK_MECHANISM_TYPE, key: CK_KEY_TYPE, digest: DigestAlgorithm
    )

    static func isCode(_ type: CK_MECHANISM_TYPE) -> Bool {
        codes.contains { $0.type == type || $0.general == type }
    }

    static let secretCiphers: [CK_MECHANISM_TYPE] = [CKM_AES_CBC, CKM_AES_CBC_PAD, CKM_AES_CTR, CKM_AES_GCM]
    static let keyWraps: [CK_MECHANISM_TYPE] = [CKM_AES_KEY_WRAP, CKM_AES_KEY_WRAP_KWP]

    enum SignatureForm: Sendable {
        case rsaPKCS1, rsaRaw, rsaPSS, ecdsa, ed25519

        func suits(_ kind: KeyKind) -> Bool {
            switch self {
            case .rsaPKCS1, .rsaRaw, .rsaPSS: kind.isRSA
            case .ecdsa: kind.isEC
            case .ed25519: kind == .ed25519
            }
        }
    }

    static func mechanisms(ofCard limits: TokenKeyLimits) -> [Mechanism] {
        mechanisms(limits, hardware: CKF_HW, generates: false)
    }

    static let mechanismsOfAnyCard = mechanisms(ofCard: .unknown)

    static let mechanismsOfKeychains = mechanisms(
        TokenKeyLimits(rsa: 512...16384, curves: 256...521, hasCurve25519: true), hardware: 0, generates: true)

    /// - Parameters:
    ///   - hardware: `CKF_HW` where private keys are used on a card.
    ///   - generates: whether keys are generated.
    private static func mechanisms(_ limits: TokenKeyLimits, hardware: CK_FLAGS, generates: Bool) -> [Mechanism] {
        let (rsa, curves) = (limits.rsa, limits.curves)
        let signatures = signatures.filter { limits.hasCurve25519 || $0.form != .ed25519 }
        let curve = CKF_EC_F_P | CKF_EC_NAMEDCURVE | CKF_EC_UNCOMPRESS
        var mechanisms = signatures.map { type, form, _ in
            let cipher =
                ciphers.contains(type)
                ? CKF_ENCRYPT | CKF_DECRYPT | CKF_WRAP | CKF_UNWRAP : 0
            let isRSA = form != .ecdsa && form != .ed25519
            return Mechanism(
                type, isRSA ? rsa : form == .ecdsa ? curves : 256...256,
                hardware | CKF_SIGN | CKF_VERIFY | cipher | (form == .ecdsa ? curve : 0))
        }
        mechanisms.append(
            Mechanism(
                CKM_RSA_PKCS_OAEP, rsa, hardware | CKF_ENCRYPT | CKF_DECRYPT | CKF_WRAP | CKF_UNWRAP))
        mechanisms += agreements.map { Mechanism($0, curves, hardware | CKF_DERIVE | curve) }
        if generates {
            mechanisms += [
                Mechanism(CKM_RSA_PKCS_KEY_PAIR_GEN, 2048...4096, CKF_GENERATE_KEY_PAIR),
                Mechanism(CKM_EC_KEY_PAIR_GEN, curves, CKF_GENERATE_KEY_PAIR | curve),
                Mechanism(CKM_EC_EDWARDS_KEY_PAIR_GEN, 256...256, CKF_GENERATE_KEY_PAIR),
                Mechanism(CKM_EC_MONTGOMERY_KEY_PAIR_GEN, 256...256, CKF_GENERATE_KEY_PAIR),
            ]
            mechanisms += secretKeyMechanisms
        }
        return mechanisms + DigestAlgorithm.allCases.map { Mechanism($0.mechanism, nil, CKF_DIGEST) }
    }

    /// What is done with secret keys, which are made where they are used.
    private static var secretKeyMechanisms: [Mechanism] {
        let (secrets, aes) = (SecretKeyKind.generic.lengths, 16...32)
        let bits = secrets.lowerBound * 8...secrets.upperBound * 8
        var mechanisms = [
            Mechanism(CKM_GENERIC_SECRET_KEY_GEN, bits, CKF_GENERATE), Mechanism(CKM_AES_KEY_GEN, aes, CKF_GENERATE),
        ]
        for row in codes {
            mechanisms += [row.type, row.general].map { Mechanism($0, secrets, CKF_SIGN | CKF_VERIFY) }
        }
        mechanisms += secretCiphers.map { Mechanism($0, aes, CKF_ENCRYPT | CKF_DECRYPT) }
        return mechanisms + keyWraps.map { Mechanism($0, aes, CKF_WRAP | CKF_UNWRAP) }
    }
}

/// What a private key may be used for, and by which mechanisms.
struct KeyMechanisms: Sendable {
    private(set) var canSign = false
    private(set) var canDecrypt = false
    private(set) var canUnwrap = false
    private(set) var canDerive = false
    private(set) var allowed: [CK_MECHANISM_TYPE] = []

    /// Those of an object that is no private key.
    init() {}

    private init(_ kind: KeyKind, signs: Bool, decrypts: Bool, unwraps: Bool, derives: Bool) {
        (canSign, canDecrypt, canUnwrap) = (signs && kind != .x25519, decrypts && kind.isRSA, unwraps && kind.isRSA)
        canDerive = derives && !kind.isRSA && kind != .ed25519
        if canSign { allowed += MechanismTable.signatures.filter { $0.form.suits(kind) }.map(\.type) }
        if canDecrypt || canUnwrap { allowed += MechanismTable.ciphers.filter { !allowed.contains($0) } }
        if canDerive { allowed += MechanismTable.agreements }
    }

    /// Those of a token's key. On a curve it is one for signatures or one for key management, as its place on the token has it.
    init(_ key: TokenKey, _ kind: KeyKind, _ certificate: Certificate?) {
        let decrypts = key.usage.contains(.decrypt)
        let signs = key.purpose != .keyManagement || certificate?.keyUsage?.isDisjoint(with: .signatures) == false
        self.init(
            kind, signs: key.usage.contains(.sign) && (signs || !kind.isEC), decrypts: decrypts, unwraps: decrypts,
            derives: key.usage.contains(.agree) && (key.purpose != .signatures || !kind.isEC))
    }

    /// Those of a key with an item's attributes.
    init(_ kind: KeyKind, _ attribute: (Attribute) -> AttributeValue?) {
        func can(_ use: Attribute) -> Bool { attribute(use)?.isTrue ?? true }
        // What unwraps a secret that is told then has decrypted: an item that says nothing of it goes by the other.
        let unwraps = attribute(.canUnwrap)?.isTrue ?? can(.canDecrypt)
        self.init(
            kind, signs: can(.canSign), decrypts: can(.canDecrypt), unwraps: unwraps, derives: can(.canDerive))
    }

    /// What a public key may be kept from, and where its item has it.
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

extension TokenKey {
    /// Whether it takes the certificate to know what the key is for.
    var isJudgedByCertificate: Bool { purpose == .keyManagement && [.ecP256, .ecP384].contains(algorithm) }
}

extension KeyUsage {
    fileprivate static var signatures: KeyUsage { [.digitalSignature, .nonRepudiation] }
}
