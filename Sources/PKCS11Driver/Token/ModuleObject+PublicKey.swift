internal import CCryptoki
internal import SystemCrypto

extension ModuleObject {
    /// The public half of a key, from the object's attributes; nil where they do not suffice, or the kind of key is unknown.
    var publicKey: PublicKey? {
        if !publicKeyInfo.isEmpty, let key = try? PublicKey(spki: publicKeyInfo) { return key }
        switch CK_KEY_TYPE(keyType) {
        case CKK_RSA:
            guard modulus.count >= ModuleObject.shortestModulus else { return nil }
            return try? PublicKey(rsaModulus: modulus, exponent: exponent)
        case CKK_EC:
            guard let curve = ModuleObject.curves[parameters], let point = curve.point(in: point) else { return nil }
            return try? PublicKey(ecPoint: point, curve: curve)
        case CKK_EC_EDWARDS: return KeyKind.ed25519.point(in: point).flatMap { try? PublicKey(raw: $0, kind: .ed25519) }
        case CKK_EC_MONTGOMERY:
            return KeyKind.x25519.point(in: point).flatMap { try? PublicKey(raw: $0, kind: .x25519) }
        default: return nil
        }
    }

    /// Whether the object may be a half of the key: none of its attributes contradicts the key.
    func fits(_ key: PublicKey) -> Bool {
        if let publicKey { return publicKey.keyHash == key.keyHash }
        switch key.kind {
        case .rsa:
            let known = modulus.drop { $0 == 0 }
            return keyType == UInt64(CKK_RSA)
                && (known.isEmpty || known.elementsEqual(key.rsaComponents?.modulus ?? []))
        case .ecP256, .ecP384, .ecP521:
            return keyType == UInt64(CKK_EC) && ModuleObject.curves[parameters, default: key.kind] == key.kind
        case .ed25519: return keyType == UInt64(CKK_EC_EDWARDS)
        case .x25519: return keyType == UInt64(CKK_EC_MONTGOMERY)
        case .other: return true
        }
    }

    /// Bytes; no token makes shorter moduli.
    private static let shortestModulus = 64

    /// The curves by the DER of their object identifiers, RFC 5480 §2.1.1.1.
    private static let curves: [[UInt8]: KeyKind] = [
        [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]: .ecP256,
        [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x22]: .ecP384,
        [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x23]: .ecP521,
    ]
}
