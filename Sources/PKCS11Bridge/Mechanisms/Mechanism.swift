internal import KeychainModel
internal import PKCS11Mechanisms
package import CCryptoki
internal import SystemCrypto

/// A mechanism of a token, as `C_GetMechanismInfo` describes it.
package struct Mechanism: Sendable {
    package let type: CK_MECHANISM_TYPE
    /// The key sizes in bits, for secret keys in bytes, except for `CKM_GENERIC_SECRET_KEY_GEN`; nil without a key.
    package let keySizes: ClosedRange<Int>?
    package fileprivate(set) var flags: CK_FLAGS
}

extension MechanismTable {
    /// - Parameter makesKeys: whether key pairs can be made now, which only the security officer may. Programs that find their mechanisms
    ///   would make keys for a connection here.
    static func mechanisms(ofCard limits: TokenKeyLimits, makesKeys: Bool = false) -> [Mechanism] {
        mechanisms(limits, hardware: CKF_HW, isKeychain: false, makesKeys: makesKeys)
    }

    static let mechanismsOfAnyCard = mechanisms(ofCard: .unknown)

    static let mechanismsOfKeychains = mechanisms(
        TokenKeyLimits(rsa: 512...16384, curves: 256...521, hasCurve25519: true), hardware: 0, isKeychain: true,
        makesKeys: true)

    /// - Parameters:
    ///   - hardware: `CKF_HW` where private keys are used on a card.
    ///   - isKeychain: whether secret keys are made and used.
    ///   - makesKeys: whether key pairs are made.
    private static func mechanisms(
        _ limits: TokenKeyLimits, hardware: CK_FLAGS, isKeychain: Bool, makesKeys: Bool
    ) -> [Mechanism] {
        var mechanisms: [Mechanism] = []
        for (type, use) in rows where isKeychain || use.isOfCards(limits, makesKeys: makesKeys) {
            let flags = use.flags | use.curveFlags | (use.usesPrivateKey ? hardware : 0)
            if let index = mechanisms.firstIndex(where: { $0.type == type }) {
                mechanisms[index].flags |= flags
            } else {
                mechanisms.append(Mechanism(type: type, keySizes: use.keySizes(limits), flags: flags))
            }
        }
        return mechanisms
    }
}

extension MechanismUse {
    fileprivate var usesPrivateKey: Bool {
        switch self {
        case .signature, .messageSignature, .pss, .encryption, .oaep, .keyExchange: true
        case .hmac, .cipher, .keyWrap, .digest, .keyPair, .secretKey: false
        }
    }

    fileprivate func isOfCards(_ limits: TokenKeyLimits, makesKeys: Bool) -> Bool {
        switch self {
        case .digest: true
        case .keyPair(CKK_EC_EDWARDS), .keyPair(CKK_EC_MONTGOMERY): makesKeys && limits.hasCurve25519
        case .keyPair: makesKeys
        case .signature(.ed25519): limits.hasCurve25519
        default: usesPrivateKey
        }
    }

    fileprivate var curveFlags: CK_FLAGS {
        switch self {
        case .signature(.ecdsa), .messageSignature(.ecdsa), .keyExchange, .keyPair(CKK_EC):
            CKF_EC_F_P | CKF_EC_NAMEDCURVE | CKF_EC_UNCOMPRESS
        default: 0
        }
    }

    fileprivate func keySizes(_ limits: TokenKeyLimits) -> ClosedRange<Int>? {
        let (secrets, aes) = (SecretKeyKind.generic.lengths, 16...32)
        return switch self {
        case .signature(.ed25519): 256...256
        case .signature(.ecdsa), .messageSignature(.ecdsa), .keyExchange, .keyPair(CKK_EC): limits.curves
        case .signature, .messageSignature, .pss, .encryption, .oaep: limits.rsa
        case .keyPair(CKK_RSA): 2048...4096
        case .keyPair: 256...256
        case .hmac: secrets
        case .secretKey(CKK_GENERIC_SECRET): secrets.lowerBound * 8...secrets.upperBound * 8
        case .cipher, .keyWrap, .secretKey: aes
        case .digest: nil
        }
    }
}
