internal import SystemCrypto
internal import TokenKit

// Keychain semantics 1.8, "add".
extension KeychainSession {
    /// The keychain that a new item goes to.
    ///
    /// - Throws: `errSecNoDefaultKeychain`.
    func target(of parsed: ParsedDictionary) throws(KeychainError) -> any Keychain {
        guard let keychain = parsed.target ?? defaultKeychain else { throw Self.noDefaultKeychain }
        return keychain
    }

    func add(_ parsed: ParsedDictionary, _ context: RequestContext) throws(KeychainError) -> FoundItem {
        try checkEntitled()
        try checkEntitled(parsed.attributes)
        let keychain = try target(of: parsed)
        guard let itemClass = parsed.itemClass else { throw KeychainError(.param, key: "class") }
        if parsed.reference != nil, parsed.data != nil {
            throw KeychainError(.param, "there is a reference as well", remedy: "leave one out", key: "v_Data")
        }
        var attributes = parsed.attributes
        attributes[.accessGroup] = attributes[.accessGroup] ?? accessGroups.standard.map { .string($0) }
        if itemClass == .identity { return try addIdentity(parsed, attributes, to: keychain, context) }
        if case .item(let item) = parsed.reference, item.isPrivateKey {
            let copy = try NewItem.privateKey(privateKey(item, context), attributes)
            return .item(try add(copy, to: keychain, context))
        }
        return .item(try add(NewItem(parsed, itemClass, attributes), to: keychain, context))
    }

    func add(
        _ new: borrowing NewItem, to keychain: any Keychain, _ context: RequestContext
    ) throws(KeychainError) -> Item {
        if new.secret != nil, !keychain.isReadOnly {
            try keychain.unlock(use: context.use, authentication: context.authentication)
        }
        return try keychain.add(new, authentication: context.authentication)
    }

    /// Adds the certificate, then the key; that one of them is there already is fine.
    ///
    /// - Throws: `errSecDuplicateItem` if both are.
    private func addIdentity(
        _ parsed: ParsedDictionary, _ attributes: Attributes, to keychain: any Keychain, _ context: RequestContext
    ) throws(KeychainError) -> FoundItem {
        // What neither half has would be nobody's.
        _ = try ItemClass.identity.checked(attributes, for: .add)
        let (certificate, key) = try halves(of: parsed, context)
        let certificateItem = try NewItem.certificate(certificate, attributes.half(.certificate))
        // What both have is the certificate's; a key shares where it belongs, not how it is called.
        var keyAttributes = attributes.half(.key).filter { !ItemClass.certificate.has($0.key) }
        for shared in [Attribute.accessGroup, .synchronizable, .accessible] {
            keyAttributes[shared] = attributes[shared]
        }
        let added = try adding { () throws(KeychainError) in try add(certificateItem, to: keychain, context) }
        guard let key else {
            // The key stays on its card.
            guard added != nil else { throw KeychainError(.duplicateItem) }
            return .identity(try identity(of: certificate, in: keychain))
        }
        do throws(KeychainError) {
            let keyItem = try NewItem.privateKey(key, keyAttributes)
            let addedKey = try adding { () throws(KeychainError) in try add(keyItem, to: keychain, context) }
            guard added != nil || addedKey != nil else { throw KeychainError(.duplicateItem) }
        } catch {
            if let added { _ = try keychain.delete(matching: Query(added.reference)) }
            throw error
        }
        return .identity(try identity(of: certificate, in: keychain))
    }

    /// What `body` adds; nil if it is there already.
    private func adding(_ body: () throws(KeychainError) -> Item) throws(KeychainError) -> Item? {
        do throws(KeychainError) {
            return try body()
        } catch {
            guard error.code == .duplicateItem else { throw error }
            return nil
        }
    }

    /// The certificate, and the private key unless that is on a token.
    private func halves(
        of parsed: ParsedDictionary, _ context: RequestContext
    ) throws(KeychainError) -> (Certificate, PrivateKey?) {
        switch parsed.reference {
        case .keyPair(let certificate, let key):
            guard certificate.publicKey == key.publicKey else {
                throw KeychainError(.param, "the key is not the certificate's", key: "v_Ref")
            }
            return (certificate, key)
        case .identity(let identity):
            guard let certificate = identity.certificate.certificate else { throw KeychainError(.decode, key: "v_Ref") }
            guard !identity.key.isOnToken else { return (certificate, nil) }
            return (certificate, try privateKey(identity.key, context))
        default: throw KeychainError(.param, "an identity is added by reference", key: "v_Ref")
        }
    }

    /// The private key of an item, to be stored elsewhere.
    ///
    /// - Throws: `errSecDataNotAvailable` for one that stays where it is.
    private func privateKey(_ item: Item, _ context: RequestContext) throws(KeychainError) -> PrivateKey {
        guard item[.isExtractable]?.isTrue ?? true else {
            throw KeychainError(.dataNotAvailable, "the key '\(item.label ?? "")' cannot be read out")
        }
        guard let keychain = searchList.members.first(where: { $0.isIdentified(by: item.keychain) }),
            let encoded = try keychain.secret(of: item, use: context.use, authentication: context.authentication)
        else { throw KeychainError(.itemNotFound, "the key '\(item.label ?? "")' is in no keychain here") }
        return try KeychainError.mapping { () throws(CryptoError) in try PrivateKey(encoded: encoded) }
    }

    private func identity(of certificate: Certificate, in keychain: any Keychain) throws(KeychainError) -> Identity {
        let list = SearchList(members: [keychain] + searchList.members.filter { $0.isReadOnly })
        var attributes = certificate.uniqueAttributes
        attributes[.synchronizable] = Query.anySynchronizable
        guard let identity = try list.identities(matching: Query(.identity, attributes)).found.first else {
            throw KeychainError(.itemNotFound, "the key of the certificate is in no keychain here")
        }
        return identity
    }
}

extension Attributes {
    /// Those that items of the class have.
    fileprivate func half(_ itemClass: ItemClass) -> Attributes { filter { itemClass.has($0.key) } }
}

extension NewItem {
    /// The item that a dictionary describes, by its data or by a reference.
    init(
        _ parsed: ParsedDictionary, _ itemClass: ItemClass, _ attributes: Attributes
    ) throws(KeychainError) {
        switch parsed.reference {
        case .certificate(let certificate): self = try .certificate(certificate, attributes)
        case .publicKey(let key): self = try .publicKey(key, attributes)
        case .privateKey(let key): self = try .privateKey(key, attributes)
        case .item(let item): self = try NewItem(copying: item, attributes)
        case nil: self = try NewItem(itemClass, data: parsed, attributes)
        default: throw .unfitting("v_Ref")
        }
    }

    private init(copying item: Item, _ attributes: Attributes) throws(KeychainError) {
        if let certificate = item.certificate {
            self = try .certificate(certificate, attributes)
        } else if item.itemClass == .key, !item.isPrivateKey, let der = item.der {
            let key = try KeychainError.mapping { () throws(CryptoError) in try PublicKey(spki: der) }
            self = try .publicKey(key, attributes)
        } else {
            throw KeychainError(.param, "a \(item.itemClass.noun) is not added by reference", key: "v_Ref")
        }
    }

    private init(
        _ itemClass: ItemClass, data parsed: ParsedDictionary, _ attributes: Attributes
    ) throws(KeychainError) {
        switch itemClass {
        case .genericPassword, .internetPassword: try self.init(itemClass, attributes, secret: parsed.secret())
        case .certificate:
            guard case .data(let der) = parsed.data else {
                throw KeychainError(.param, "a certificate is its DER or a reference", key: "v_Data")
            }
            let certificate = try KeychainError.mapping { () throws(CryptoError) in try Certificate(der: der) }
            self = try .certificate(certificate, attributes)
        case .key:
            self = try NewItem.key(externalForm: parsed.secret(), attributes)
        case .identity: throw KeychainError(.param, "an identity is added by reference", key: "v_Ref")
        }
    }
}

extension ParsedDictionary {
    /// `v_Data` as a secret of its own.
    func secret() -> Secret? {
        switch data {
        case .data(let bytes): Secret(copying: bytes.span)
        case .secret(let shared): shared.secret.clone()
        default: nil
        }
    }
}
