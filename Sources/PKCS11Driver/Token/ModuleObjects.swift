internal import CCryptoki
internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

/// The objects of a module's token as a token's inventory: a certificate and its key, where they have one id, are one
/// object.
///
/// A module lists its objects in whatever order; here they have one, so that names stay the same from run to run.
struct ModuleObjects: Sendable {
    let inventory: TokenInventory

    /// The module's names of the private keys.
    let keys: [TokenObjectID: ModuleKey]

    /// - Parameter hidesKeys: whether private keys show themselves only after a login. A certificate of somebody's own, or a
    ///   public key, stands for one until then; that there is none the first use tells.
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

    /// By the id, then by the content.
    static func isInOrder(_ left: (id: [UInt8], content: [UInt8]), _ right: (id: [UInt8], content: [UInt8])) -> Bool {
        guard left.id == right.id else { return left.id.lexicographicallyPrecedes(right.id) }
        return left.content.lexicographicallyPrecedes(right.content)
    }

    private struct Maker {
        var objects: [TokenObject] = []
        var keys: [TokenObjectID: ModuleKey] = [:]
        private var names: Set<TokenObjectID> = []

        /// - Parameter key: what is known of the key; without a private half it is none, once those show themselves. It keeps
        ///   its name then, so that others do not lose theirs by a login.
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

        /// The id in hexadecimal; a number after a stroke tells further ones of the same id.
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
    /// Whether the certificate is an end entity's rather than an issuer's of another one. A certificate that signs
    /// itself, as `openssl req -x509` makes them, is an authority by its own word, though no other certificate's.
    fileprivate func isSomebodysOwn(among others: [Certificate?]) -> Bool {
        guard isCA else { return true }
        return issuer == subject && !others.contains { $0.map { $0.issuer == subject && $0.der != der } ?? false }
    }
}

/// The attributes by which a module finds a private key, and its public half, which tells what the key can do.
struct ModuleKey: Sendable {
    let id: [UInt8]
    let label: [UInt8]
    let publicKey: PublicKey
}

extension TokenKey {
    /// A private key that does not show itself yet is believed to do what its kind can, and to be called what its public half is.
    ///
    /// - Parameter label: what its object is called.
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
            algorithm: Algorithm(publicKey.kind), publicKey: publicKey.spki, usage: usage,
            pinPolicy: privateKey?.uses.contains(.alwaysAuthenticate) ?? false ? .always : .once,
            label: own, publicLabel: text(pair.label, unless: own ?? label))
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
