internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto

extension KeychainSession {
    /// Plans a step that a client asks for, once its access group is known to be open to the client. Unlocks the
    /// keychain of a new secret.
    func plan(_ step: ChangeStep, purpose: String?) throws(KeychainError) -> PlannedStep {
        switch step {
        case .add(let addition):
            try checkEntitled(addition.attributes)
            return try plan(NewItem(addition), to: keychain(addition.keychain), purpose: purpose)
        case .addIdentity(let addition): return try plan(addition, purpose: purpose)
        case .copy(let reference, let attributes, let identifier):
            try checkEntitled(attributes)
            let keychain = try keychain(identifier)
            try keychain.checkWritable()
            let use = purpose ?? String(localized: "store \(ItemClass.key.anyNoun)")
            return try plan(copy(of: item(reference), attributes, use: use), to: keychain, purpose: purpose)
        case .update(let query, let attributes, let secret):
            try checkEntitled(attributes)
            return .one(.update(query, ItemChanges(attributes, shared: secret)))
        case .delete(let query): return .one(.delete(query))
        }
    }

    private func plan(
        _ item: NewItem, to keychain: any Keychain, purpose: String?
    ) throws(KeychainError) -> PlannedStep {
        let item = item.defaulting(to: accessGroups.standard)
        try keychain.checkWritable()
        if item.isSealed {
            try keychain.unlock(
                use: purpose ?? String(localized: "store \(item.itemClass.anyNoun)"), authentication: authentication)
        }
        return .one(.add(item, to: keychain))
    }

    /// The error of a change with a query that finds nothing.
    func reason(notFoundBy queries: [Query]) throws(KeychainError) -> KeychainError {
        for query in queries {
            let list = searchList(for: query)
            let isFound =
                query.itemClass == .identity
                ? try !list.identities(matching: query, for: client).found.isEmpty
                : try !list.items(matching: query, for: client).found.isEmpty
            if !isFound { return try notFound(query) }
        }
        return KeychainError(.itemNotFound)
    }
}

extension ChangeStep {
    /// The query of an update or a deletion.
    var query: Query? {
        switch self {
        case .add, .addIdentity, .copy: nil
        case .update(let query, _, _), .delete(let query): query
        }
    }
}

extension NewItem {
    /// The item of an addition, whose data are checked again: a client is another process.
    ///
    /// - Throws: `errSecParam` for data that the class does not have, or attributes that contradict the data;
    ///   `errSecDecode` for data that cannot be read.
    init(_ addition: Addition) throws(KeychainError) {
        let attributes = addition.attributes
        switch (addition.itemClass, addition.der, addition.secret) {
        case (.genericPassword, nil, let shared), (.internetPassword, nil, let shared):
            self = try .password(addition.itemClass, attributes, secret: shared?.secret.clone())
        case (.certificate, let der?, nil):
            let certificate = try KeychainError.mapping { () throws(CryptoError) in try Certificate(der: der) }
            self = try .certificate(certificate, attributes)
        case (.key, let der?, nil):
            let key = try KeychainError.mapping { () throws(CryptoError) in try PublicKey(spki: der) }
            self = try .publicKey(key, attributes)
        case (.key, let der?, let shared?):
            let key = try KeychainError.mapping { () throws(CryptoError) in try PrivateKey(encoded: shared.secret) }
            guard key.publicKey.spki == der else {
                throw KeychainError(.param, "the public half is not the private key's", key: "v_Data")
            }
            self = try .privateKey(key, attributes)
        case (.key, nil, let shared?):
            let stated = try ItemClass.key.checked(attributes, for: .add)
            let type = KeyType(rawValue: stated[.keyType]?.integer ?? 0)
            switch stated[.keyClass]?.integer {
            case KeyClass.symmetric.rawValue where type == .aes || type == .hmac:
                self = try .symmetricKey(shared.secret.clone(), type: type, attributes)
            case KeyClass.symmetric.rawValue, nil: self = try NewItem(.key, attributes, secret: shared.secret.clone())
            case _ where KeyFamily(type) == nil: self = try NewItem(.key, attributes, secret: shared.secret.clone())
            default: throw KeychainError(.param, "the public half of the key is missing", key: "v_Data")
            }
        default: throw KeychainError(.param, "these are not the data of \(addition.itemClass.anyNoun)", key: "v_Data")
        }
    }
}
