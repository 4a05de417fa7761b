package import CCryptoki
package import SystemCrypto

/// The operation of a mechanism, as a ``KeyAlgorithm``. The mechanism's parameter decides the rest.
package enum MechanismUse: Hashable, Sendable {
    /// Signs a digest, a block, or with Ed25519 a message. PKCS #11 has ECDSA signatures as r‖s (§6.3.1).
    case signature(SignatureAlgorithm)
    case messageSignature(SignatureAlgorithm)
    /// PSS with the hash functions and the salt of the parameter (§6.1.10); over a message where a hash function is named.
    case pss(DigestAlgorithm?)
    case encryption(RSAEncryption)
    /// OAEP with the hash functions and the label of the parameter. §6.1.8.
    case oaep
    /// Diffie-Hellman, and the derivation of the parameter. §6.3.16.
    case keyExchange(KeyAlgorithm.Agreement)
    /// HMAC; the parameter of a general one is the length of the code. §6.22 to §6.26.
    case hmac(DigestAlgorithm, isGeneral: Bool)
    case cipher(AESStream.Mode)
    case keyWrap(isPadded: Bool)
    case digest(DigestAlgorithm)
    /// Generates pairs of keys of the type.
    case keyPair(CK_KEY_TYPE)
    /// Generates secret keys of the type.
    case secretKey(CK_KEY_TYPE)
}

/// The one table of mechanisms. To add a mechanism, add its row; where its parameter is a structure, the thin module's
/// `ParameterLayout` needs a row too.
package enum MechanismTable {
    package typealias Row = (type: CK_MECHANISM_TYPE, use: MechanismUse)

    package static let rows: [Row] = [
        (CKM_RSA_PKCS, .signature(.rsaPKCS1(nil))), (CKM_RSA_PKCS, .encryption(.pkcs1)),
        (CKM_RSA_X_509, .signature(.rsaRaw)), (CKM_RSA_X_509, .encryption(.raw)),
        (CKM_RSA_PKCS_PSS, .pss(nil)),
        (CKM_SHA1_RSA_PKCS, .messageSignature(.rsaPKCS1(.sha1))),
        (CKM_SHA224_RSA_PKCS, .messageSignature(.rsaPKCS1(.sha224))),
        (CKM_SHA256_RSA_PKCS, .messageSignature(.rsaPKCS1(.sha256))),
        (CKM_SHA384_RSA_PKCS, .messageSignature(.rsaPKCS1(.sha384))),
        (CKM_SHA512_RSA_PKCS, .messageSignature(.rsaPKCS1(.sha512))),
        (CKM_SHA1_RSA_PKCS_PSS, .pss(.sha1)), (CKM_SHA224_RSA_PKCS_PSS, .pss(.sha224)),
        (CKM_SHA256_RSA_PKCS_PSS, .pss(.sha256)), (CKM_SHA384_RSA_PKCS_PSS, .pss(.sha384)),
        (CKM_SHA512_RSA_PKCS_PSS, .pss(.sha512)),
        (CKM_ECDSA, .signature(.ecdsa(nil, .rfc4754))),
        (CKM_ECDSA_SHA1, .messageSignature(.ecdsa(.sha1, .rfc4754))),
        (CKM_ECDSA_SHA224, .messageSignature(.ecdsa(.sha224, .rfc4754))),
        (CKM_ECDSA_SHA256, .messageSignature(.ecdsa(.sha256, .rfc4754))),
        (CKM_ECDSA_SHA384, .messageSignature(.ecdsa(.sha384, .rfc4754))),
        (CKM_ECDSA_SHA512, .messageSignature(.ecdsa(.sha512, .rfc4754))),
        (CKM_EDDSA, .signature(.ed25519)),
        (CKM_RSA_PKCS_OAEP, .oaep),
        (CKM_ECDH1_DERIVE, .keyExchange(.standard)), (CKM_ECDH1_COFACTOR_DERIVE, .keyExchange(.cofactor)),
        (CKM_RSA_PKCS_KEY_PAIR_GEN, .keyPair(CKK_RSA)), (CKM_EC_KEY_PAIR_GEN, .keyPair(CKK_EC)),
        (CKM_EC_EDWARDS_KEY_PAIR_GEN, .keyPair(CKK_EC_EDWARDS)),
        (CKM_EC_MONTGOMERY_KEY_PAIR_GEN, .keyPair(CKK_EC_MONTGOMERY)),
        (CKM_GENERIC_SECRET_KEY_GEN, .secretKey(CKK_GENERIC_SECRET)), (CKM_AES_KEY_GEN, .secretKey(CKK_AES)),
        (CKM_SHA_1_HMAC, .hmac(.sha1, isGeneral: false)), (CKM_SHA_1_HMAC_GENERAL, .hmac(.sha1, isGeneral: true)),
        (CKM_SHA224_HMAC, .hmac(.sha224, isGeneral: false)), (CKM_SHA224_HMAC_GENERAL, .hmac(.sha224, isGeneral: true)),
        (CKM_SHA256_HMAC, .hmac(.sha256, isGeneral: false)), (CKM_SHA256_HMAC_GENERAL, .hmac(.sha256, isGeneral: true)),
        (CKM_SHA384_HMAC, .hmac(.sha384, isGeneral: false)), (CKM_SHA384_HMAC_GENERAL, .hmac(.sha384, isGeneral: true)),
        (CKM_SHA512_HMAC, .hmac(.sha512, isGeneral: false)), (CKM_SHA512_HMAC_GENERAL, .hmac(.sha512, isGeneral: true)),
        (CKM_AES_CBC, .cipher(.cbc)), (CKM_AES_CBC_PAD, .cipher(.paddedCBC)), (CKM_AES_CTR, .cipher(.ctr)),
        (CKM_AES_GCM, .cipher(.gcm)),
        (CKM_AES_KEY_WRAP, .keyWrap(isPadded: false)), (CKM_AES_KEY_WRAP_KWP, .keyWrap(isPadded: true)),
        (CKM_SHA_1, .digest(.sha1)), (CKM_SHA224, .digest(.sha224)), (CKM_SHA256, .digest(.sha256)),
        (CKM_SHA384, .digest(.sha384)), (CKM_SHA512, .digest(.sha512)),
    ]

    /// The use of a mechanism in the functions of a flag such as `CKF_SIGN`; nil where the functions do not take it.
    package static func use(of type: CK_MECHANISM_TYPE, for flag: CK_FLAGS) -> MechanismUse? {
        rows.first { $0.type == type && $0.use.flags & flag != 0 }?.use
    }

    /// The mechanism with a use; `CK_UNAVAILABLE_INFORMATION` where there is none.
    package static func type(of use: MechanismUse) -> CK_MECHANISM_TYPE { rows.first { $0.use == use }?.type ?? .max }

    /// The mechanisms that the functions of a flag take for a kind of key pair.
    package static func types(for flag: CK_FLAGS, of kind: KeyKind) -> [CK_MECHANISM_TYPE] {
        rows.filter { $0.use.flags & flag != 0 && $0.use.suits(kind) }.map(\.type)
    }
}

extension MechanismUse {
    /// The functions that take the mechanism. PKCS #11 §6, table 28.
    package var flags: CK_FLAGS {
        switch self {
        case .signature, .messageSignature, .pss, .hmac: CKF_SIGN | CKF_VERIFY
        case .encryption, .oaep: CKF_ENCRYPT | CKF_DECRYPT | CKF_WRAP | CKF_UNWRAP
        case .keyExchange: CKF_DERIVE
        case .cipher: CKF_ENCRYPT | CKF_DECRYPT
        case .keyWrap: CKF_WRAP | CKF_UNWRAP
        case .digest: CKF_DIGEST
        case .keyPair: CKF_GENERATE_KEY_PAIR
        case .secretKey: CKF_GENERATE
        }
    }

    /// Whether key pairs of the kind have the use.
    package func suits(_ kind: KeyKind) -> Bool {
        switch self {
        case .signature(let algorithm), .messageSignature(let algorithm): algorithm.suits(kind)
        case .pss, .encryption, .oaep: kind.isRSA
        case .keyExchange: kind.agrees
        case .hmac, .cipher, .keyWrap, .digest, .keyPair, .secretKey: false
        }
    }
}

// MARK: - Hash functions

extension DigestAlgorithm {
    /// The numbers of a hash function: as a mechanism, in MGF1 (PKCS #11 §6.1.7), in the derivation of X9.63 (§6.3.16), and the
    /// type of keys for HMAC with it only.
    package struct Numbers: Sendable {
        package let mechanism: CK_MECHANISM_TYPE
        package let mgf: CK_ULONG
        package let kdf: CK_ULONG
        package let hmacKey: CK_KEY_TYPE
    }

    package var numbers: Numbers {
        switch self {
        case .sha1: Numbers(mechanism: CKM_SHA_1, mgf: CKG_MGF1_SHA1, kdf: CKD_SHA1_KDF, hmacKey: CKK_SHA_1_HMAC)
        case .sha224:
            Numbers(mechanism: CKM_SHA224, mgf: CKG_MGF1_SHA224, kdf: CKD_SHA224_KDF, hmacKey: CKK_SHA224_HMAC)
        case .sha256:
            Numbers(mechanism: CKM_SHA256, mgf: CKG_MGF1_SHA256, kdf: CKD_SHA256_KDF, hmacKey: CKK_SHA256_HMAC)
        case .sha384:
            Numbers(mechanism: CKM_SHA384, mgf: CKG_MGF1_SHA384, kdf: CKD_SHA384_KDF, hmacKey: CKK_SHA384_HMAC)
        case .sha512:
            Numbers(mechanism: CKM_SHA512, mgf: CKG_MGF1_SHA512, kdf: CKD_SHA512_KDF, hmacKey: CKK_SHA512_HMAC)
        }
    }

    /// The hash function that has a number; nil for another number.
    package init?(_ number: CK_ULONG, as kind: KeyPath<Numbers, CK_ULONG>) {
        guard let algorithm = DigestAlgorithm.allCases.first(where: { $0.numbers[keyPath: kind] == number }) else {
            return nil
        }
        self = algorithm
    }
}
