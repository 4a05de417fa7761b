internal import CCryptoki
internal import SystemCrypto
internal import TokenKit

/// What a module's token holds, as a token's inventory: certificates and keys of one id are one object.
struct ModuleObjects: Sendable {
    let inventory: TokenInventory

    /// What the module calls the private keys.
    let keys: [TokenObjectID: ModuleKey]

    /// - Parameter hidesKeys: whether private keys show themselves only after a login. A certificate of somebody's own, or a
    ///   public key, stands for one until then; that there is none the first use tells.
    init(_ objects: [ModuleObject], hidesKeys: Bool) {
        let certificates = objects.filter { $0.objectClass == UInt64(CKO_CERTIFICATE) }
        let publicKeys = objects.filter { $0.objectClass == UInt64(CKO_PUBLIC_KEY) }
        let privateKeys = objects.filter { $0.objectClass == UInt64(CKO_PRIVATE_KEY) }

        var maker = Maker()
        let allParsed = certificates.map { try? Certificate(der: $0.value) }
        for (certificate, parsed) in zip(certificates, allParsed) {
            let key = privateKeys.first { $0.id == certificate.id && !$0.id.isEmpty }
            let pair = publicKeys.first { $0.id == certificate.id && !$0.id.isEmpty }
            let isOwn =
                pair != nil || !certificate.id.isEmpty && parsed?.isSomebodysOwn(among: allParsed) ?? false
            let publicKey = parsed?.publicKey ?? pair?.publicKey
            let isPresumed = key == nil && hidesKeys && isOwn
            maker.add(
                certificate, certificate: certificate.value,
                key: key.map { ($0, $0.publicKey ?? publicKey) } ?? (isPresumed ? (nil, publicKey) : nil))
        }
        for key in privateKeys where !maker.knows(key) {
            let pair = publicKeys.first { $0.id == key.id && (!key.id.isEmpty || $0.label == key.label) }
            maker.add(key, certificate: nil, key: (key, key.publicKey ?? pair?.publicKey))
        }
        for key in publicKeys where hidesKeys && !key.id.isEmpty && !maker.knows(key) {
            maker.add(key, certificate: nil, key: (nil, key.publicKey))
        }
        inventory = TokenInventory(objects: maker.objects)
        keys = maker.keys
    }

    private struct Maker {
        var objects: [TokenObject] = []
        var keys: [TokenObjectID: ModuleKey] = [:]
        private var ids: Set<[UInt8]> = []

        /// Whether an object of the same id has a key already.
        func knows(_ key: ModuleObject) -> Bool { !key.id.isEmpty && ids.contains(key.id) }

        /// - Parameter key: the private key, if it shows itself, and its public half; nil where there is none.
        mutating func add(
            _ object: ModuleObject, certificate: [UInt8]?, key: (ModuleObject?, PublicKey?)?
        ) {
            let id = name(for: object.id)
            var tokenKey: TokenKey?
            // A second certificate of a key does not make a second key.
            if case let (privateKey, publicKey?)? = key, !knows(object) {
                tokenKey = TokenKey(publicKey, privateKey)
                keys[id] = ModuleKey(
                    id: object.id, label: privateKey?.label ?? object.label, publicKey: publicKey)
                ids.insert(object.id)
            }
            let label = String(decoding: object.label, as: UTF8.self)
            objects.append(
                TokenObject(id: id, label: label.isEmpty ? id.rawValue : label, certificate: certificate, key: tokenKey)
            )
        }

        /// The id in hexadecimal; a number after a stroke tells further ones of the same id.
        private func name(for id: [UInt8]) -> TokenObjectID {
            let name = Hex.encode(id).lowercased()
            let isTaken = { (name: String) in objects.contains { $0.id.rawValue == name } }
            if !name.isEmpty, !isTaken(name) { return TokenObjectID(name) }
            var number = 1
            while isTaken("\(name)/\(number)") { number += 1 }
            return TokenObjectID("\(name)/\(number)")
        }
    }
}

extension Certificate {
    /// Whether it is not there for the chain of another one. Who signs his own certificate, as `openssl req -x509` does, is an
    /// authority by its word, though of nobody else.
    fileprivate func isSomebodysOwn(among others: [Certificate?]) -> Bool {
        guard isCA else { return true }
        return issuer == subject && !others.contains { $0.map { $0.issuer == subject && $0.der != der } ?? false }
    }
}

/// How a module finds a private key, and what that can do.
struct ModuleKey: Sendable {
    let id: [UInt8]
    let label: [UInt8]
    let publicKey: PublicKey
}

extension TokenKey {
    /// - Parameter privateKey: nil where it does not show itself yet: what its kind can do it is believed to do.
    fileprivate init(_ publicKey: PublicKey, _ privateKey: ModuleObject?) {
        let possible: Usage =
            switch publicKey.kind {
            case .rsa: [.sign, .decrypt]
            case .ecP256, .ecP384, .ecP521: [.sign, .agree]
            case .ed25519: .sign
            case .x25519: .agree
            case .other: []
            }
        var usage = possible
        if let privateKey {
            usage = []
            if privateKey.uses.contains(.sign) { usage.insert(.sign) }
            if privateKey.uses.contains(.decrypt) { usage.insert(.decrypt) }
            if privateKey.uses.contains(.derive) { usage.insert(.agree) }
            usage.formIntersection(possible)
        }
        self.init(
            algorithm: Algorithm(publicKey.kind), publicKey: publicKey.spki, usage: usage,
            pinPolicy: privateKey?.uses.contains(.alwaysAuthenticate) ?? false ? .always : .once)
    }
}

extension TokenKey.Algorithm {
    fileprivate init(_ kind: KeyKind) {
        self =
            switch kind {
            case .rsa(let bits): .rsa(bits: bits)
            case .ecP256: .ecP256
            case .ecP384: .ecP384
            case .ed25519: .ed25519
            case .x25519: .x25519
            case .ecP521, .other: .other(0)
            }
    }
}

extension ModuleObject {
    /// The public half of a key, of what its object tells; nil where that is not enough, or of no known kind.
    fileprivate var publicKey: PublicKey? {
        if !publicKeyInfo.isEmpty, let key = try? PublicKey(spki: publicKeyInfo) { return key }
        switch CK_KEY_TYPE(keyType) {
        case CKK_RSA:
            guard modulus.count >= ModuleObject.shortestModulus else { return nil }
            return try? PublicKey(rsaModulus: modulus, exponent: exponent)
        case CKK_EC:
            guard let curve = ModuleObject.curves[parameters], let length = curve.coordinateLength else { return nil }
            return try? PublicKey(ecPoint: unwrapped(to: 1 + 2 * length), curve: curve)
        case CKK_EC_EDWARDS: return try? PublicKey(raw: unwrapped(to: 32), kind: .ed25519)
        case CKK_EC_MONTGOMERY: return try? PublicKey(raw: unwrapped(to: 32), kind: .x25519)
        default: return nil
        }
    }

    /// `CKA_EC_POINT` is an OCTET STRING with the point in it (PKCS #11 2.40 §2.3.3); some modules give the point itself.
    private func unwrapped(to length: Int) -> [UInt8] {
        let header = length < 0x80 ? [0x04, UInt8(length)] : [0x04, 0x81, UInt8(length)]
        guard point.starts(with: header), point.count == header.count + length else { return point }
        return Array(point.dropFirst(header.count))
    }

    /// Bytes; no token makes keys of less.
    private static let shortestModulus = 64

    /// By the DER of their object identifiers, RFC 5480 §2.1.1.1.
    private static let curves: [[UInt8]: KeyKind] = [
        [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]: .ecP256,
        [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x22]: .ecP384,
        [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x23]: .ecP521,
    ]
}
