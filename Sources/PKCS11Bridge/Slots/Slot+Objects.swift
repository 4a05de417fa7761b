internal import CCryptoki
internal import HostAPI
internal import KeychainModel
internal import SecureBytes
internal import SystemCrypto

// Objects, and the use of keys.
extension Slot {
    /// The token's objects that match the template; private ones only while the user is logged in. Where the template names an id, only
    /// items with that id are read of a card.
    func objects(matching template: Template) throws(CryptokiError) -> [CryptokiObject] {
        let kinds = Slot.kinds(template)
        var objects = try self.objects(
            TokenItemSelection(kinds, cryptokiID: template[CKA_ID], data: try data(matching: template)), template)
        if template.allows(CKO_PROFILE) { objects.insert(.profile, at: 0) }
        let sees = isLoggedIn
        objects.removeAll {
            !sees && $0.isPrivate || !$0.matches(isCard ? template.without(CKA_VALUE, of: $0) : template)
        }
        guard isCard, let value = template.secret(CKA_VALUE) else { return objects }
        var equal: [CryptokiObject] = []
        for object in objects {
            if object.objectClass != CKO_DATA {
                equal.append(object)
            } else if try secretValue(CKA_VALUE, of: object.name).equals(value) {
                equal.append(object)
            }
        }
        return equal
    }

    /// An object by its name; nil once it is gone.
    func object(_ name: ObjectName) throws(CryptokiError) -> CryptokiObject? {
        guard case .item(let objectClass, let reference, _) = name else { return name == .profile ? .profile : nil }
        let template = Template([(CKA_CLASS, Encoded.ulong(objectClass))])
        let selection = TokenItemSelection(
            Slot.kinds(template), reference: reference, data: template.allows(CKO_DATA) ? .known : .none)
        let sees = isLoggedIn
        return try objects(selection, template).first { $0.name == name && (sees || !$0.isPrivate) }
    }

    /// The data objects of a card that match the template, whether or not the card has them.
    func possibleData(_ template: Template) throws(CryptokiError) -> [CryptokiObject] {
        try objects(TokenItemSelection([], data: .possible), template).filter { $0.matches(template) }
    }

    private static func kinds(_ template: Template) -> TokenItemSelection.Kinds {
        let table: [(CK_OBJECT_CLASS, TokenItemSelection.Kinds)] = [
            (CKO_CERTIFICATE, .certificates), (CKO_PUBLIC_KEY, .publicKeys), (CKO_PRIVATE_KEY, .privateKeys),
            (CKO_SECRET_KEY, .secretKeys),
        ]
        return TokenItemSelection.Kinds(table.filter { template.allows($0.0) }.map(\.1))
    }

    private func objects(
        _ selection: TokenItemSelection, _ template: Template
    ) throws(CryptokiError) -> [CryptokiObject] {
        let items = try CryptokiError.inSession { () throws(KeychainError) in
            try service.tokenItems(in: name, selection, context()).found
        }
        return ItemObjects(items, hidesLogin: promptPolicy.asksItself).objects(allowedBy: template)
    }

    /// The data objects that a search is about.
    ///
    /// A search looks for a card's only where it names their class, since that costs one command for each possible object, once. Other
    /// searches show the data objects that are already known to be present.
    private func data(matching template: Template) throws(CryptokiError) -> TokenItemSelection.Data {
        guard template.allows(CKO_DATA) else { return .none }
        guard isCard else { return .known }
        guard template.objectClass == CKO_DATA else {
            // A search by `CKA_VALUE` finds data objects only where it names their class, since no value is read otherwise.
            return template.types.contains(CKA_VALUE) ? .none : .known
        }
        let attributes = template.without(CKA_VALUE)
        return .among(try possibleData(attributes).compactMap(\.name.reference))
    }

    // MARK: Keys

    /// Uses a private key. Another token in the slot would have another key.
    ///
    /// - Parameter isAuthorized: whether the program has logged in for this one use.
    /// - Throws: `CKR_DEVICE_REMOVED` where the key's token is out.
    func perform(
        _ use: KeyUse, with key: CryptokiObject, isAuthorized: Bool
    ) throws(CryptokiError) -> Secret {
        guard let reference = key.name.reference else { throw CryptokiError(CKR_KEY_HANDLE_INVALID) }
        var request = KeyRequest(use.operation, use.algorithm, with: reference)
        (request.isAuthorized, request.isUnwrapping) = (isAuthorized, use.isUnwrapping)
        let result = try CryptokiError.mappingUse { () throws(KeychainError) in
            try service.perform(request, context(to: use.verb, asks: promptPolicy.asksItself))
        }
        return result.secret.clone()
    }

    /// The bytes of a secret key of the token, for its use, even where they must not be revealed.
    func keyBytes(of key: CryptokiObject, for use: AccessQuestion.Use) throws(CryptokiError) -> Secret {
        guard let reference = key.name.reference else { throw CryptokiError(CKR_KEY_HANDLE_INVALID) }
        return try CryptokiError.mappingUse { () throws(KeychainError) in
            try service.keyBytes(
                of: reference, in: name, for: use, context(to: "use the key", asks: promptPolicy.asksItself))
        }
    }

    /// The value of a secret attribute, which no list of attributes holds.
    func secretValue(_ type: CK_ATTRIBUTE_TYPE, of object: ObjectName) throws(CryptokiError) -> Secret {
        guard case .item(let objectClass, let reference, _) = object else {
            throw CryptokiError(CKR_ATTRIBUTE_SENSITIVE)
        }
        let isKey = objectClass == CKO_PRIVATE_KEY
        let secret = try CryptokiError.inSession { () throws(KeychainError) in
            try service.secret(of: reference, context(to: "export a key", asks: isKey && promptPolicy.asksItself))
        }
        guard let secret else { return Secret(capacity: 0) { _ in } }
        guard isKey else { return secret.secret.clone() }
        let key = try CryptokiError.mapping { () throws(CryptoError) in try PrivateKey(encoded: secret.secret) }
        return try PrivateNumbers.value(type, of: key)
    }
}

extension Template {
    /// The template without `CKA_VALUE` for a data object, whose value is not among its attributes.
    fileprivate func without(_ type: CK_ATTRIBUTE_TYPE, of object: CryptokiObject) -> Template {
        object.objectClass == CKO_DATA ? without(type) : self
    }
}
