public import KeychainModel
internal import SecureBytes
internal import SystemCrypto

// Keychain semantics 1.8, "add".
extension KeychainSession {
    /// Adds an item.
    ///
    /// - Returns: what was added, and its data where that is wanted: nobody is asked for what he has just given.
    func add(
        _ parsed: ParsedDictionary, _ context: PromptContext
    ) throws(KeychainError) -> (FoundItem, data: ItemValue?) {
        try checkEntitled()
        try checkEntitled(parsed.attributes)
        let keychain = try keychain(parsed.target)
        guard let itemClass = parsed.itemClass else { throw KeychainError(.param, key: "class") }
        if parsed.reference != nil, parsed.data != nil {
            throw KeychainError(.param, "there is a reference as well", remedy: "leave one out", key: "v_Data")
        }
        var attributes = parsed.attributes
        attributes[.accessGroup] = attributes[.accessGroup] ?? accessGroups.standard.map { .string($0) }
        if itemClass == .identity {
            let identity = try addIdentity(parsed, attributes, to: keychain, context)
            return (.identity(identity), try identity.certificate.data(parsed.returns) { nil })
        }
        if case .item(let item) = parsed.reference, item.isPrivateKey {
            return try add(copy(of: item, context).newItem(attributes), parsed.returns, to: keychain, context)
        }
        return try add(NewItem(parsed, itemClass, attributes), parsed.returns, to: keychain, context)
    }

    /// What cannot be answered is refused before it is added.
    private func add(
        _ new: NewItem, _ returns: ParsedDictionary.Returns, to keychain: any Keychain,
        _ context: PromptContext
    ) throws(KeychainError) -> (FoundItem, data: ItemValue?) {
        let data = try new.data(returns) { new.secret?.secret.clone() }
        return (.item(try add(new, to: keychain, context)), data)
    }

    func add(
        _ new: NewItem, to keychain: any Keychain, _ context: PromptContext
    ) throws(KeychainError) -> Item {
        try add([new], to: keychain, context)[0]
    }

    /// Adds all items, or none.
    private func add(
        _ items: [NewItem], to keychain: any Keychain, _ context: PromptContext
    ) throws(KeychainError) -> [Item] {
        if items.contains(where: \.isSealed), !keychain.isReadOnly {
            try keychain.unlock(use: context.use, authentication: context.authentication)
        }
        let steps = items.map { SearchList.Step.add($0, to: keychain) }
        return try change(steps, authentication: context.authentication).compactMap(\.added)
    }

    // MARK: Identities

    /// Adds the certificate, then the key; that one of them is there already is fine.
    ///
    /// - Throws: `errSecDuplicateItem` if both are. Whatever it throws, neither was added.
    private func addIdentity(
        _ parsed: ParsedDictionary, _ attributes: Attributes, to keychain: any Keychain, _ context: PromptContext
    ) throws(KeychainError) -> Identity {
        // What neither half has would be nobody's.
        _ = try ItemClass.identity.checked(attributes, for: .add)
        let halves = try halves(of: parsed, for: keychain, context)
        let certificateItem = try NewItem.certificate(halves.certificate, attributes.half(.certificate))
        // What both have is the certificate's; a key shares where it belongs and what guards it, not how it is called.
        var keyAttributes = attributes.half(.key).filter { !ItemClass.certificate.has($0.key) }
        for shared in [Attribute.accessGroup, .synchronizable, .accessible, .accessControl] {
            keyAttributes[shared] = attributes[shared]
        }
        let key: KeyCopy
        switch halves.key {
        case .there(let item):
            try item.checkProtection(keyAttributes)
            return Identity(certificate: try add(certificateItem, to: keychain, context), key: item)
        case .copied(let copy): key = copy
        }
        let keyItem = try key.newItem(keyAttributes)
        do throws(KeychainError) {
            let added = try add([certificateItem, keyItem], to: keychain, context)
            return Identity(certificate: added[0], key: added[1])
        } catch {
            guard error.code == .duplicateItem else { throw error }
        }
        if let certificate = try certificateItem.equal(in: keychain),
            let key = try addUnlessThere(keyItem, to: keychain, context)
        {
            return Identity(certificate: certificate, key: key)
        }
        guard let key = try keyItem.equal(in: keychain) else { throw KeychainError(.duplicateItem) }
        try key.checkProtection(keyAttributes)
        return Identity(certificate: try add(certificateItem, to: keychain, context), key: key)
    }

    /// The added item; nil where it is there already.
    private func addUnlessThere(
        _ new: NewItem, to keychain: any Keychain, _ context: PromptContext
    ) throws(KeychainError) -> Item? {
        do throws(KeychainError) { return try add(new, to: keychain, context) } catch {
            guard error.code == .duplicateItem else { throw error }
            return nil
        }
    }

    /// A private key that is to be stored, and what protected it where it was.
    private struct KeyCopy {
        let key: PrivateKey
        var protection: KeyProtection?

        func newItem(_ attributes: Attributes) throws(KeychainError) -> NewItem {
            try .privateKey(key, try protection?.strengthened(by: attributes) ?? attributes)
        }
    }

    private enum KeyHalf {
        case copied(KeyCopy)
        /// It stays where it is: on its card, or in the keychain that is added to.
        case there(Item)
    }

    private func halves(
        of parsed: ParsedDictionary, for keychain: any Keychain, _ context: PromptContext
    ) throws(KeychainError) -> (certificate: Certificate, key: KeyHalf) {
        switch parsed.reference {
        case .keyPair(let certificate, let key):
            guard certificate.publicKey == key.publicKey else {
                throw KeychainError(.param, "the key is not the certificate's", key: "v_Ref")
            }
            return (certificate, .copied(KeyCopy(key: key)))
        case .identity(let identity):
            guard let certificate = identity.certificate.certificate else { throw KeychainError(.decode, key: "v_Ref") }
            return (certificate, try half(identity.key, for: keychain, context))
        case .certified(let certificate, let key):
            guard certificate.keyHash == key.publicKeyHash else {
                throw KeychainError(.param, "the key is not the certificate's", key: "v_Ref")
            }
            return (certificate, try half(key, for: keychain, context))
        default: throw KeychainError(.param, "an identity is added by reference", key: "v_Ref")
        }
    }

    private func half(
        _ key: Item, for keychain: any Keychain, _ context: PromptContext
    ) throws(KeychainError) -> KeyHalf {
        if key.isOnToken || keychain.isIdentified(by: key.keychain) { return .there(key) }
        return .copied(try copy(of: key, context))
    }

    /// The private key of an item, to be stored elsewhere.
    ///
    /// - Throws: `errSecDataNotAvailable` for one that stays where it is.
    private func copy(of item: Item, _ context: PromptContext) throws(KeychainError) -> KeyCopy {
        let name = item.label.flatMap { $0.isEmpty ? nil : " '\($0)'" } ?? ""
        guard item[.isExtractable]?.isTrue ?? true else {
            throw KeychainError(.dataNotAvailable, "the key\(name) cannot be read out")
        }
        guard let keychain = searchList.members.first(where: { $0.isIdentified(by: item.keychain) }),
            let encoded = try keychain.secret(of: item, use: context.use, authentication: context.authentication)
        else { throw KeychainError(.itemNotFound, "the key\(name) is in no keychain here") }
        let key = try KeychainError.mapping { () throws(CryptoError) in try PrivateKey(encoded: encoded) }
        return KeyCopy(key: key, protection: KeyProtection(of: item.attributes))
    }
}

extension Attributes {
    /// Those that items of the class have.
    fileprivate func half(_ itemClass: ItemClass) -> Attributes { filter { itemClass.has($0.key) } }
}

extension NewItem {
    /// The item of a keychain that this one is a duplicate of.
    public func equal(in keychain: any Keychain) throws(KeychainError) -> Item? {
        try keychain.items(matching: Query(itemClass, itemClass.uniqueValues(of: attributes))).found.first
    }

    /// The item that a dictionary describes, by its data or by a reference.
    init(
        _ parsed: ParsedDictionary, _ itemClass: ItemClass, _ attributes: Attributes
    ) throws(KeychainError) {
        switch parsed.reference {
        case .certificate(let certificate): self = try .certificate(certificate, attributes)
        case .publicKey(let key): self = try .publicKey(key, attributes)
        case .privateKey(let key): self = try .privateKey(key, attributes)
        case .symmetricKey(let key): self = try .symmetricKey(key, attributes)
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
            throw KeychainError(.param, "\(item.itemClass.anyNoun) is not added by reference", key: "v_Ref")
        }
    }

    private init(
        _ itemClass: ItemClass, data parsed: ParsedDictionary, _ attributes: Attributes
    ) throws(KeychainError) {
        switch itemClass {
        case .genericPassword, .internetPassword: try self.init(itemClass, attributes, secret: parsed.secret())
        case .certificate:
            guard let der = parsed.secret() else {
                throw KeychainError(.param, "a certificate is given as DER or as a reference", key: "v_Data")
            }
            let certificate = try KeychainError.mapping { () throws(CryptoError) in
                try Certificate(der: der.copied())
            }
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
