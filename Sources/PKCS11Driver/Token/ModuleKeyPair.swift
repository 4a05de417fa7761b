internal import CCryptoki
internal import SystemCrypto

/// A key by the visible attributes of its halves.
struct ModuleKeyPair {
    let id: [UInt8]
    let label: [UInt8]
    let publicKey: PublicKey

    /// Nil where the module does not show the private key.
    var privateKey: ModuleObject?

    /// Whether only a certificate points to the key.
    var isPresumed = false

    /// The keys with known public halves. Keys with a public key object, which is visible before a login too, come first.
    ///
    /// - Parameter certified: the public keys in certificates, by their ids.
    static func all(_ objects: [ModuleObject], certified: [(id: [UInt8], key: PublicKey?)]) -> [ModuleKeyPair] {
        var shown: [ModuleKeyPair] = []
        for object in objects where object.objectClass == UInt64(CKO_PUBLIC_KEY) {
            guard let key = object.publicKey, !shown.contains(where: { $0.isNamed(as: object) && $0.isOf(key) })
            else { continue }
            shown.append(ModuleKeyPair(id: object.id, label: object.label, publicKey: key))
        }
        var others: [ModuleKeyPair] = []
        for object in objects where object.objectClass == UInt64(CKO_PRIVATE_KEY) {
            let fitting = shown.indices.filter { place in
                shown[place].privateKey == nil && shown[place].isNamed(as: object)
                    && object.fits(shown[place].publicKey)
            }
            if let place = fitting.first(where: { shown[$0].label == object.label }) ?? fitting.first {
                shown[place].privateKey = object
                continue
            }
            let certificate = certified.first { $0.id == object.id && $0.key.map(object.fits) ?? false }
            guard let key = object.publicKey ?? certificate?.key,
                !(shown + others).contains(where: { $0.isNamed(as: object) && $0.isOf(key) })
            else { continue }
            others.append(ModuleKeyPair(id: object.id, label: object.label, publicKey: key, privateKey: object))
        }
        return shown.sorted(by: inOrder) + others.sorted(by: inOrder)
    }

    private static func inOrder(_ left: ModuleKeyPair, _ right: ModuleKeyPair) -> Bool {
        ModuleObjects.isInOrder((left.id, left.publicKey.spki), (right.id, right.publicKey.spki))
    }

    func isOf(_ key: PublicKey) -> Bool { publicKey.keyHash == key.keyHash }

    /// Whether an object has the id of the pair, or its label where there is no id.
    func isNamed(as object: ModuleObject) -> Bool { id == object.id && (!id.isEmpty || label == object.label) }
}
