internal import CCryptoki

/// The fields of a mechanism's parameter. PKCS #11 2.40 and 3.0, the "mechanism parameters" of each mechanism.
enum ParameterLayout {
    /// Bytes that the mechanism's own section explains, such as an initialisation vector.
    case bytes
    /// A structure, with a letter for each of its fields:
    ///
    /// `n` a `CK_ULONG`, or a handle or type of that size · `p` a pointer, and the number of bytes it points to · `q` the same,
    /// the number first · `b` a `CK_BBOOL` or `CK_BYTE` · `v` 16 bytes · `w` 8 bytes · `.` padding up to a multiple of 8 bytes
    case structure(StaticString)
    /// A structure that points to further structures, or to memory for results. No token here has such a mechanism, so that the
    /// host refuses it by its type.
    case withheld
    /// An unknown mechanism, or one without a parameter.
    case unknown

    init(of mechanism: CK_MECHANISM_TYPE) {
        switch mechanism {
        // MARK: RSA: CK_RSA_PKCS_PSS_PARAMS, CK_RSA_PKCS_OAEP_PARAMS, CK_RSA_AES_KEY_WRAP_PARAMS.
        case CKM_RSA_PKCS_PSS, CKM_SHA1_RSA_PKCS_PSS, CKM_SHA224_RSA_PKCS_PSS, CKM_SHA256_RSA_PKCS_PSS,
            CKM_SHA384_RSA_PKCS_PSS, CKM_SHA512_RSA_PKCS_PSS, sha3WithRSAPSS.0...sha3WithRSAPSS.1:
            self = .structure("nnn")
        case CKM_RSA_PKCS_OAEP: self = .structure("nnnp")
        case CKM_RSA_AES_KEY_WRAP: self = .withheld

        // MARK: Elliptic curves: CK_ECDH1_DERIVE_PARAMS, CK_ECMQV_DERIVE_PARAMS, CK_ECDH_AES_KEY_WRAP_PARAMS, CK_EDDSA_PARAMS.
        case CKM_ECDH1_DERIVE, CKM_ECDH1_COFACTOR_DERIVE: self = .structure("nqq")
        case CKM_ECMQV_DERIVE: self = .structure("nqqnnqn")
        case CKM_ECDH_AES_KEY_WRAP: self = .structure("nnq")
        case CKM_EDDSA: self = .structure("b.q")

        // MARK: Diffie-Hellman: the other side's value, CK_X9_42_DH1_DERIVE_PARAMS, CK_X9_42_DH2_DERIVE_PARAMS, CK_X9_42_MQV_DERIVE_PARAMS.
        case CKM_DH_PKCS_DERIVE: self = .bytes
        case CKM_X9_42_DH_DERIVE: self = .structure("nqq")
        case CKM_X9_42_DH_HYBRID_DERIVE: self = .structure("nqqnnq")
        case CKM_X9_42_MQV_DERIVE: self = .structure("nqqnnqn")

        // MARK: AES: initialisation vectors, CK_AES_CTR_PARAMS, CK_GCM_PARAMS, CK_CCM_PARAMS.
        case CKM_AES_CBC, CKM_AES_CBC_PAD, CKM_AES_CTS, CKM_AES_GMAC, CKM_AES_OFB, CKM_AES_CFB64, CKM_AES_CFB8,
            CKM_AES_CFB128, CKM_AES_CFB1, CKM_AES_KEY_WRAP, CKM_AES_KEY_WRAP_PAD, CKM_AES_KEY_WRAP_KWP,
            aesXTS:
            self = .bytes
        case CKM_AES_CTR, CKM_CAMELLIA_CTR: self = .structure("nv")
        case CKM_AES_GCM: self = .structure("pnpn")
        case CKM_AES_CCM: self = .structure("nppn")

        // MARK: ChaCha20 and Salsa20 with Poly1305: CK_SALSA20_CHACHA20_POLY1305_PARAMS.
        case chaCha20WithPoly1305, salsa20WithPoly1305: self = .structure("pp")

        // MARK: Other ciphers: initialisation vectors.
        case CKM_DES_CBC, CKM_DES_CBC_PAD, CKM_DES3_CBC, CKM_DES3_CBC_PAD, CKM_DES_OFB64, CKM_DES_OFB8, CKM_DES_CFB64,
            CKM_DES_CFB8, CKM_CDMF_CBC, CKM_CDMF_CBC_PAD, CKM_CAST_CBC, CKM_CAST_CBC_PAD, CKM_CAST3_CBC,
            CKM_CAST3_CBC_PAD, CKM_CAST5_CBC, CKM_CAST5_CBC_PAD, CKM_IDEA_CBC_PAD, CKM_CAMELLIA_CBC,
            CKM_CAMELLIA_CBC_PAD, CKM_ARIA_CBC, CKM_ARIA_CBC_PAD, CKM_SEED_CBC, CKM_SEED_CBC_PAD, CKM_BLOWFISH_CBC,
            CKM_BLOWFISH_CBC_PAD, CKM_TWOFISH_CBC, CKM_TWOFISH_CBC_PAD:
            self = .bytes

        // MARK: Codes of a length that the program chooses: CK_MAC_GENERAL_PARAMS.
        case CKM_AES_MAC_GENERAL, CKM_AES_CMAC_GENERAL, CKM_DES_MAC_GENERAL, CKM_DES3_MAC_GENERAL,
            CKM_DES3_CMAC_GENERAL, CKM_CAMELLIA_MAC_GENERAL, CKM_ARIA_MAC_GENERAL, CKM_SEED_MAC_GENERAL,
            CKM_MD5_HMAC_GENERAL, CKM_SHA_1_HMAC_GENERAL, CKM_SHA224_HMAC_GENERAL, CKM_SHA256_HMAC_GENERAL,
            CKM_SHA384_HMAC_GENERAL, CKM_SHA512_HMAC_GENERAL, CKM_SHA512_224_HMAC_GENERAL,
            CKM_SHA512_256_HMAC_GENERAL, CKM_SSL3_MD5_MAC, CKM_SSL3_SHA1_MAC:
            self = .structure("n")

        // MARK: Keys from keys: CK_KEY_DERIVATION_STRING_DATA, CK_AES_CBC_ENCRYPT_DATA_PARAMS and the like, CK_HKDF_PARAMS.
        case CKM_CONCATENATE_BASE_AND_DATA, CKM_CONCATENATE_DATA_AND_BASE, CKM_XOR_BASE_AND_DATA,
            CKM_DES_ECB_ENCRYPT_DATA, CKM_DES3_ECB_ENCRYPT_DATA, CKM_AES_ECB_ENCRYPT_DATA,
            CKM_CAMELLIA_ECB_ENCRYPT_DATA, CKM_ARIA_ECB_ENCRYPT_DATA, CKM_SEED_ECB_ENCRYPT_DATA:
            self = .structure("p")
        case CKM_AES_CBC_ENCRYPT_DATA, CKM_CAMELLIA_CBC_ENCRYPT_DATA, CKM_ARIA_CBC_ENCRYPT_DATA,
            CKM_SEED_CBC_ENCRYPT_DATA:
            self = .structure("vp")
        case CKM_DES_CBC_ENCRYPT_DATA, CKM_DES3_CBC_ENCRYPT_DATA: self = .structure("wp")
        case CKM_CONCATENATE_BASE_AND_KEY, CKM_EXTRACT_KEY_FROM_KEY: self = .structure("n")
        case hkdf.0...hkdf.1: self = .structure("bb.nnpnp")

        // MARK: Withheld: SSL 3, TLS, WTLS, PBE, PKCS #5, SP 800-108, KIP, CMS, OTP, RC2, RC5, GOST, KEA, Skipjack, ChaCha20,
        // Salsa20, X3DH, the double ratchet, IKE.
        case CKM_SSL3_PRE_MASTER_KEY_GEN...CKM_TLS_PRF, CKM_PBE_MD2_DES_CBC...(CKM_PBE_SHA1_RC2_40_CBC + 4),
            CKM_PKCS5_PBKD2, CKM_PBA_SHA1_WITH_SHA1_HMAC, CKM_WTLS_PRE_MASTER_KEY_GEN...CKM_TLS_KDF, CKM_CMS_SIG,
            CKM_KIP_DERIVE...CKM_KIP_MAC, CKM_SECURID, CKM_HOTP, CKM_ACTI, CKM_RC2_KEY_GEN...CKM_RC2_CBC_PAD,
            CKM_RC5_KEY_GEN...CKM_RC5_CBC_PAD, CKM_GOSTR3410_KEY_WRAP, CKM_GOSTR3410_DERIVE,
            CKM_GOST28147...CKM_GOST28147_KEY_WRAP, CKM_KEA_KEY_DERIVE,
            CKM_SKIPJACK_CBC64...CKM_SKIPJACK_RELAYX, CKM_KEY_WRAP_SET_OAEP, chaCha20, salsa20,
            doubleRatchet.0...doubleRatchet.1, ike.0...ike.1:
            self = .withheld
        default: self = .unknown
        }
    }

    /// The length of a structure with these fields.
    static func byteCount(of layout: StaticString) -> Int {
        var count = 0
        for index in 0..<layout.utf8CodeUnitCount { count = end(of: unsafe layout.utf8Start[index], at: count) }
        return count
    }

    /// The end of a field that begins at an offset.
    static func end(of letter: UInt8, at offset: Int) -> Int {
        switch letter {
        case UInt8(ascii: "n"), UInt8(ascii: "w"): offset + 8
        case UInt8(ascii: "p"), UInt8(ascii: "q"), UInt8(ascii: "v"): offset + 16
        case UInt8(ascii: "b"): offset + 1
        default: (offset + 7) & ~7
        }
    }
}

// Mechanisms of 3.0 that the header has no names for: CKM_SHA3_256_RSA_PKCS_PSS to CKM_SHA3_224_RSA_PKCS_PSS, CKM_AES_XTS,
// CKM_CHACHA20_POLY1305, CKM_SALSA20_POLY1305, CKM_CHACHA20, CKM_SALSA20, CKM_X3DH_INITIALIZE to CKM_X2RATCHET_DECRYPT,
// CKM_HKDF_DERIVE and CKM_HKDF_DATA, CKM_IKE2_PRF_PLUS_DERIVE to CKM_IKE1_EXTENDED_DERIVE.
private var sha3WithRSAPSS: (CK_MECHANISM_TYPE, CK_MECHANISM_TYPE) { (0x63, 0x67) }
private var aesXTS: CK_MECHANISM_TYPE { 0x1071 }
private var chaCha20WithPoly1305: CK_MECHANISM_TYPE { 0x4021 }
private var salsa20WithPoly1305: CK_MECHANISM_TYPE { 0x4022 }
private var chaCha20: CK_MECHANISM_TYPE { 0x1226 }
private var salsa20: CK_MECHANISM_TYPE { 0x4020 }
private var doubleRatchet: (CK_MECHANISM_TYPE, CK_MECHANISM_TYPE) { (0x4023, 0x4028) }
private var hkdf: (CK_MECHANISM_TYPE, CK_MECHANISM_TYPE) { (0x402A, 0x402B) }
private var ike: (CK_MECHANISM_TYPE, CK_MECHANISM_TYPE) { (0x402E, 0x4031) }
