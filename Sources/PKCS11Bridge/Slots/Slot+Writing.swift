internal import CCryptoki
internal import HostAPI
internal import KeychainModel
internal import SecureBytes
internal import SystemCrypto

// Changes of a keychain. A card refuses them before they come here.
extension Slot {
    func create(_ template: Template) throws(CryptokiError) -> ObjectName {
        let item = try NewObject.item(from: template)
        return .item(template.objectClass ?? CKO_DATA, try add(item))
    }

    /// Keeps a private key that a session has.
    func create(_ key: PrivateKey, _ template: Template) throws(CryptokiError) -> ObjectName {
        .item(CKO_PRIVATE_KEY, try add(NewObject.item(of: key, template)))
    }

    /// Keeps a secret key.
    func create(_ key: consuming Secret, _ template: Template, isGenerated: Bool) throws(CryptokiError) -> ObjectName {
        let item = try NewObject.item(ofSecretKey: key, template, isGenerated: isGenerated)
        return .item(CKO_SECRET_KEY, try add(item))
    }

    /// - Throws: `CKR_ATTRIBUTE_VALUE_INVALID` for an item that exists already. A key exists whatever its new id, since all
    ///   objects of one key share one id.
    private func add(_ item: NewItem) throws(CryptokiError) -> PersistentReference {
        if item.itemClass == .key {
            let ofKey = item.attributes.filter { [.applicationLabel, .keyClass].contains($0.key) }
            guard try items(.key, ofKey).isEmpty else {
                throw CryptokiError(CKR_ATTRIBUTE_VALUE_INVALID, "the key is in the keychain already")
            }
        }
        let added = try change([.add(Addition(item))]).added
        guard let first = added.first else { throw CryptokiError(CKR_GENERAL_ERROR, "nothing was added") }
        return first.reference
    }

    private func items(_ itemClass: ItemClass, _ attributes: Attributes) throws(CryptokiError) -> [Item] {
        try CryptokiError.inSession { () throws(KeychainError) in
            let any = attributes.merging([.synchronizable: Query.anySynchronizable]) { $1 }
            return try service.items(matching: Query(itemClass, any, limit: .all), context()).found
        }
    }

    private func change(_ steps: [ChangeStep]) throws(CryptokiError) -> ChangeResult {
        try CryptokiError.inSession { () throws(KeychainError) in try service.change(steps, context()).found }
    }

    func destroy(_ object: ObjectName) throws(CryptokiError) {
        guard let reference = object.reference else { throw CryptokiError(CKR_ACTION_PROHIBITED) }
        _ = try change([.delete(Query(reference))])
    }

    func change(_ object: ObjectName, to template: Template) throws(CryptokiError) {
        guard case .item(let objectClass, let reference, _) = object else { throw CryptokiError(CKR_ACTION_PROHIBITED) }
        let hasID = [CKO_CERTIFICATE, CKO_PUBLIC_KEY, CKO_PRIVATE_KEY, CKO_SECRET_KEY].contains(objectClass)
        // NSS sets the subject of keys to that of the next certificate. It is accepted and ignored, since the certificate
        // determines it here.
        let isKey = [CKO_PUBLIC_KEY, CKO_PRIVATE_KEY].contains(objectClass)
        guard
            template.types.allSatisfy({ type in
                type == CKA_LABEL || type == CKA_ID && hasID || type == CKA_SUBJECT && isKey
            })
        else {
            throw CryptokiError(CKR_ATTRIBUTE_READ_ONLY, "only labels and ids change")
        }
        var steps: [ChangeStep] = []
        if let id = template[CKA_ID] { steps += try changes(of: object, toID: id) }
        if let label = try template.text(CKA_LABEL) {
            steps.append(.update(Query(reference), [.label: .string(label)]))
        }
        if !steps.isEmpty { _ = try change(steps) }
    }

    /// The changes of the id of all objects with the object's public key, or of a secret key.
    private func changes(of object: ObjectName, toID id: [UInt8]) throws(CryptokiError) -> [ChangeStep] {
        guard let found = try self.object(object) else { throw CryptokiError(CKR_OBJECT_HANDLE_INVALID) }
        guard found.attributes[CKA_ID] != id else { return [] }
        if case .item(CKO_SECRET_KEY, let reference, _) = object {
            guard !id.isEmpty else { throw Template.invalid(CKA_ID) }
            return [.update(Query(reference), [.applicationTag: .data(id)])]
        }
        guard let hash = found.publicKeyHash, !id.isEmpty else { throw Template.invalid(CKA_ID) }
        let name = AttributeValue.data(id == hash ? [] : id)
        let places: [(ItemClass, Attribute, Attribute)] = [
            (.key, .applicationLabel, .applicationTag), (.certificate, .publicKeyHash, .alias),
        ]
        var steps: [ChangeStep] = []
        for (itemClass, hashOfKey, nameOfItem) in places {
            for item in try items(itemClass, [hashOfKey: .data(hash)]) {
                steps.append(.update(Query(item.reference), [nameOfItem: name]))
            }
        }
        return steps
    }

    func generateKeyPair(
        _ kind: KeyKind, publicTemplate: Template, privateTemplate: Template
    ) throws(CryptokiError) -> (publicKey: ObjectName, privateKey: ObjectName) {
        let (own, other) = (try privateTemplate.text(CKA_LABEL), try publicTemplate.text(CKA_LABEL))
        var attributes: Attributes = (own ?? other).map { [.label: .string($0)] } ?? [:]
        let ids = Set([privateTemplate, publicTemplate].compactMap { $0[CKA_ID] }.filter { !$0.isEmpty })
        guard ids.count < 2 else { throw CryptokiError(CKR_TEMPLATE_INCONSISTENT, "a pair of keys has one id") }
        if let id = ids.first { attributes[.applicationTag] = .data(id) }
        let (protection, uses) = (
            try NewObject.protection(privateTemplate, kind), try NewObject.publicUses(publicTemplate)
        )
        let pair = try CryptokiError.mapping { () throws(KeychainError) in
            try NewItem.generatedKeyPair(kind, attributes, privateAttributes: protection, publicAttributes: uses)
        }
        let added = try change([.add(Addition(pair.publicKey)), .add(Addition(pair.privateKey))]).added
        guard added.count == 2 else { throw CryptokiError(CKR_GENERAL_ERROR, "a half was not added") }
        return (.item(CKO_PUBLIC_KEY, added[0].reference), .item(CKO_PRIVATE_KEY, added[1].reference))
    }
}
