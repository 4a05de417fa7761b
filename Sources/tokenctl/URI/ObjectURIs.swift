internal import CryptokiNames
internal import HostAPI
internal import KeychainModel

/// The URIs of found items: their names in the PKCS#11 module.
struct ObjectURIs {
    private var places: [KeychainIdentifier: PKCS11URI.Place] = [:]
    private var names: [KeychainIdentifier: CryptokiItemNames] = [:]
    /// Ids that several items of a kind in a file have, as a certificate and its successor do, or several objects on a module's
    /// token.
    private var sharedIDs: Set<SharedID> = []
    private struct SharedID: Hashable {
        let keychain: KeychainIdentifier
        /// Nil for a module's token.
        let kind: PKCS11URI.Kind?
        let id: [UInt8]
    }

    init(_ session: CommandKeychains) throws {
        let (files, tokens) = (try session.foundFiles().found, try session.foundTokens().found)
        for keychain in files + tokens { places[keychain.identifier] = PKCS11URI.Place(keychain) }
        // The objects of a card have ids of their own.
        let others = files + tokens.filter { $0.kind == .moduleToken }
        let certificates = ObjectURIs.all(.certificate, in: others, session)
        let keys = ObjectURIs.all(.key, in: others, session)
        for keychain in others {
            let (certificates, keys) = (certificates[keychain.identifier] ?? [], keys[keychain.identifier] ?? [])
            if keychain.kind == .file {
                names[keychain.identifier] = CryptokiItemNames(keys: keys, certificates: certificates)
            }
            var seen: Set<SharedID> = []
            for item in certificates + keys {
                guard let object = objects(of: item).first, let id = object.id else { continue }
                let shared = SharedID(keychain: keychain.identifier, kind: object.kind, id: id)
                if !seen.insert(shared).inserted { sharedIDs.insert(ObjectURIs.sharedID(of: item, object.kind, id)) }
            }
        }
    }

    private static func all(
        _ itemClass: ItemClass, in keychains: [KeychainDescription], _ session: CommandKeychains
    ) -> [KeychainIdentifier: [Item]] {
        guard !keychains.isEmpty else { return [:] }
        let any: Attributes = [.synchronizable: Query.anySynchronizable]
        let query = try? Query(itemClass, any, in: keychains.map(\.identifier), limit: .all)
        let found = query.flatMap { try? session.items(matching: $0).found }
        return Dictionary(grouping: found ?? [], by: \.keychain)
    }

    /// On a module's token, an id that is shared in one kind tells objects of no kind apart.
    private static func sharedID(of item: Item, _ kind: PKCS11URI.Kind?, _ id: [UInt8]) -> SharedID {
        SharedID(keychain: item.keychain, kind: item.isOnToken ? nil : kind, id: id)
    }

    // MARK: Out

    /// The URI of an item; nil for one without a name. URIs of symmetric keys are for this program alone, as the module
    /// shows none.
    func uri(of item: Item) -> PKCS11URI? {
        guard let place = places[item.keychain], var object = objects(of: item).first else { return nil }
        if !needsLabel(item, object) { object.label = nil }
        return PKCS11URI(of: place.token, object: object)
    }

    /// A URI of both halves where they are on one token, else that of the key.
    func uri(of identity: Identity) -> PKCS11URI? {
        guard var uri = uri(of: identity.key) else { return nil }
        if identity.certificate.keychain == identity.key.keychain,
            let certificate = objects(of: identity.certificate).first, certificate.id == uri.object.id,
            uri.object.label == nil || uri.object.label == certificate.label
        {
            uri.object.kind = nil
        }
        return uri
    }

    /// Whether the URI needs the label, because the id does not tell the object from others.
    private func needsLabel(_ item: Item, _ object: PKCS11URI.Object) -> Bool {
        guard let id = object.id, !id.isEmpty else { return true }
        return sharedIDs.contains(ObjectURIs.sharedID(of: item, object.kind, id))
    }

    // MARK: In

    /// Whether the item is one of those that a URI names.
    func matches(_ uri: PKCS11URI, _ item: Item) -> Bool {
        isOnToken(of: uri, item) && objects(of: item).contains(where: uri.matches)
    }

    /// The items that the URIs name, and all items on tokens that no URI names.
    func items(_ items: [Item], namedBy uris: [PKCS11URI]) -> [Item] {
        items.filter { item in
            accepts(uris) {
                matches($0, item)
            } onToken: {
                isOnToken(of: $0, item)
            }
        }
    }

    /// The identities that the URIs name by either half, and all on tokens that no URI names.
    func identities(_ identities: [Identity], namedBy uris: [PKCS11URI]) -> [Identity] {
        identities.filter { identity in
            let halves = [identity.certificate, identity.key]
            return accepts(uris) { uri in
                halves.contains { matches(uri, $0) }
            } onToken: { uri in
                halves.contains { isOnToken(of: uri, $0) }
            }
        }
    }

    private func accepts(
        _ uris: [PKCS11URI], matching: (PKCS11URI) -> Bool, onToken: (PKCS11URI) -> Bool
    ) -> Bool {
        let concerned = uris.filter(onToken)
        return concerned.isEmpty || concerned.contains(where: matching)
    }

    private func isOnToken(of uri: PKCS11URI, _ item: Item) -> Bool {
        places[item.keychain].map(uri.matches) ?? false
    }

    // MARK: What an item is

    /// The objects that the module shows for an item, once for each id that finds them; a private key comes before its public
    /// half.
    private func objects(of item: Item) -> [PKCS11URI.Object] {
        let names = names[item.keychain]
        let label = names?.label(of: item) ?? item.label
        let publicLabel = item.tokenTraits?.publicLabel ?? label
        return ids(of: item, names).flatMap { id in
            ObjectURIs.kinds(of: item).map { kind in
                // A password has no id, not even an empty one; nor have some objects of modules.
                PKCS11URI.Object(
                    id: kind == .data || id.isEmpty ? nil : id,
                    label: (kind == .publicKey ? publicLabel : label).map { PKCS11URI.Text($0) }, kind: kind)
            }
        }
    }

    private func ids(of item: Item, _ names: CryptokiItemNames?) -> [[UInt8]] {
        guard let traits = item.tokenTraits else { return names?.ids(of: item) ?? [] }
        return traits.cryptokiID.map { [$0] } ?? []
    }

    private static func kinds(of item: Item) -> [PKCS11URI.Kind] {
        switch item.itemClass {
        case .certificate: [.certificate]
        case .key where item.isPrivateKey: [.privateKey, .publicKey]
        case .key where item.isSymmetricKey: [.secretKey]
        case .key: [.publicKey]
        case .genericPassword, .internetPassword: [.data]
        case .identity: []
        }
    }
}
