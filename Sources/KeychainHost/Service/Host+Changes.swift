internal import HostAPI
internal import KeychainModel
internal import SecureBytes
internal import SystemCrypto

extension KeychainSession {
    /// A step that a client asks for, once it is known to be open to the client. The keychain of a new secret is unlocked.
    func step(_ step: ChangeStep, purpose: String?) throws(KeychainError) -> SearchList.Step {
        switch step {
        case .add(let addition):
            try checkEntitled(addition.attributes)
            let item = try NewItem(addition).defaulting(to: accessGroups.standard)
            let keychain = try keychain(addition.keychain)
            if item.isSealed, !keychain.isReadOnly {
                try keychain.unlock(use: purpose ?? "store \(item.itemClass.anyNoun)", authentication: authentication)
            }
            return .add(item, to: keychain)
        case .update(let query, let attributes, let secret):
            try checkEntitled(attributes)
            return .update(query, ItemChanges(attributes, shared: secret))
        case .delete(let query): return .delete(query)
        }
    }

    /// The error of a change of which one query finds nothing.
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
        case .add: nil
        case .update(let query, _, _), .delete(let query): query
        }
    }
}

extension ChangeResult {
    init(_ results: [KeychainStep.Result], of steps: [ChangeStep]) {
        self.init()
        for (step, result) in zip(steps, results) {
            switch (step, result) {
            case (_, .added(let item)): added.append(item)
            case (.update, .count(let count)): updatedCount += count
            case (_, .count(let count)): deletedCount += count
            }
        }
    }
}

extension NewItem {
    /// The item of an addition, whose data are checked again: a client is another process.
    ///
    /// - Throws: `errSecParam` for data that the class does not have, or attributes that say of the data what they are not;
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
            let type = attributes[.keyType]?.integer.map { KeyType(rawValue: $0) } ?? .aes
            self = try .symmetricKey(shared.secret.clone(), type: type, attributes)
        default: throw KeychainError(.param, "these are not the data of \(addition.itemClass.anyNoun)", key: "v_Data")
        }
    }
}
