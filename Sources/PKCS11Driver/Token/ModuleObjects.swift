internal import CCryptoki
internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

/// The objects of a module's token as a token's inventory: a certificate and a key with the same id are one object.
///
/// A module may list its objects in any order. They are sorted here, so that names stay the same from run to run.
struct ModuleObjects: Sendable {
    let inventory: TokenInventory

    /// The attributes by which the module finds the private keys.
    let keys: [TokenObjectID: ModuleKey]

    /// - Parameter hidesKeys: whether private keys are visible only after a login. Until then, an end entity's certificate or a
    ///   public key stands for a private key. A missing private key shows at the first use.
    init(_ objects: [ModuleObject], hidesKeys: Bool) {
        let certificates = objects.filter { $0.objectClass == UInt64(CKO_CERTIFICATE) }
            .sorted { ModuleObjects.isInOrder(($0.id, $0.value), ($1.id, $1.value)) }
        let allParsed = certificates.map { try? Certificate(der: $0.value) }
        let owned = zip(certificates, allParsed).filter { !$0.0.id.isEmpty }.map { ($0.id, $1) }
        var pairs = ModuleKeyPair.all(objects, certified: owned.map { ($0, $1?.publicKey) })
        if hidesKeys {
            for (id, certificate) in owned where !pairs.contains(where: { $0.id == id && !$0.isPresumed }) {
                guard let certificate, let publicKey = certificate.publicKey,
                    certificate.isSomebodysOwn(among: allParsed)
                else { continue }
                pairs.append(ModuleKeyPair(id: id, label: [], publicKey: publicKey, isPresumed: true))
            }
        }

        var maker = Maker()
        // A second certificate of a key does not make a second key.
        var isTaken = Set<Int>()
        for (certificate, parsed) in zip(certificates, allParsed) {
            let place = pairs.firstIndex { pair in
                !pair.id.isEmpty && pair.id == certificate.id && parsed?.publicKey.map(pair.isOf) ?? true
            }
            let key = place.flatMap { isTaken.insert($0).inserted ? pairs[$0] : nil }
            maker.add(certificate.id, certificate.label, certificate: certificate.value, key, hidesKeys: hidesKeys)
        }
        for (place, pair) in pairs.enumerated() where !isTaken.contains(place) && !pair.isPresumed {
            maker.add(pair.id, pair.privateKey?.label ?? pair.label, certificate: nil, pair, hidesKeys: hidesKeys)
        }
        inventory = TokenInventory(objects: maker.objects)
        keys = maker.keys
    }

    /// Orders objects by the id, then by the content.
    static func isInOrder(_ left: (id: [UInt8], content: [UInt8]), _ right: (id: [UInt8], content: [UInt8])) -> Bool {
        guard left.id == right.id else { return left.id.lexicographicallyPrecedes(right.id) }
        return left.content.lexicographicallyPrecedes(right.content)
    }

    private struct Maker {
        var objects: [TokenObject] = []
        var keys: [TokenObjectID: ModuleKey] = [:]
        private var names: Set<TokenObjectID> = []

        /// - Parameter key: the known parts of the key. Where private keys are visible, a key without a private half is left out.
        ///   Its name stays taken, so that a login does not change the names of others.
        mutating func add(
            _ id: [UInt8], _ label: [UInt8], certificate: [UInt8]?, _ key: ModuleKeyPair?, hidesKeys: Bool
        ) {
            let name = name(for: id)
            names.insert(name)
            let key = key.flatMap { $0.privateKey != nil || hidesKeys ? $0 : nil }
            guard certificate != nil || key != nil else { return }
            keys[name] = key.map {
                ModuleKey(id: id, label: $0.privateKey?.label ?? label, publicKey: $0.publicKey)
            }
            let own = label.isEmpty ? name.rawValue : String(decoding: label, as: UTF8.self)
            objects.append(
                TokenObject(
                    id: name, label: own, cryptokiID: id, certificate: certificate,
                    key: key.map { TokenKey($0, besides: own) }))
        }

        /// The id in hexadecimal. Further objects of the same id, and objects without one, have a number after a slash.
        private func name(for id: [UInt8]) -> TokenObjectID {
            let name = TokenObjectID(Hex.encode(id).lowercased())
            if !id.isEmpty, !names.contains(name) { return name }
            var number = 1
            while names.contains(TokenObjectID("\(name)/\(number)")) { number += 1 }
            return TokenObjectID("\(name)/\(number)")
        }
    }
}

extension Certificate {
    /// Whether the certificate is an end entity's rather than an issuer's of another one. A self-signed certificate from `openssl
    /// req -x509` calls itself an authority, but has issued no other certificate.
    fileprivate func isSomebodysOwn(among others: [Certificate?]) -> Bool {
        guard isCA else { return true }
        return issuer == subject && !others.contains { $0.map { $0.issuer == subject && $0.der != der } ?? false }
    }
}

/// The attributes by which a module finds a private key, and its public half, which shows what the key can do.
struct ModuleKey: Sendable {
    let id: [UInt8]
    let label: [UInt8]
    let publicKey: PublicKey
}

extension TokenKey {
    /// Describes a key. A private key that is not visible yet is assumed to do all that its kind can, and has its public half's
    /// label.
    ///
    /// - Parameter label: the object's label, which is not repeated as the key's.
    fileprivate init(_ pair: ModuleKeyPair, besides label: String) {
        let (publicKey, privateKey) = (pair.publicKey, pair.privateKey)
        func text(_ own: [UInt8], unless other: String) -> String? {
            let text = String(decoding: own, as: UTF8.self)
            return text.isEmpty || text == other ? nil : text
        }
        let own = text(privateKey?.label ?? pair.label, unless: label)
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
            kind: publicKey.kind, publicKey: publicKey.spki, usage: usage,
            pinPolicy: privateKey?.uses.contains(.alwaysAuthenticate) ?? false ? .always : .once,
            label: own, publicLabel: text(pair.label, unless: own ?? label))
    }
}
