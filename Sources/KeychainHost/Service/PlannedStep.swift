internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto

/// A step of a change, as the search list carries it out.
enum PlannedStep {
    case one(SearchList.Step)
    /// The halves of an identity, of which one may be there already.
    case identity(certificate: Half, key: Half)

    enum Half {
        case present(Item)
        case added(SearchList.Step)

        fileprivate var step: SearchList.Step? {
            if case .added(let step) = self { step } else { nil }
        }

        /// - Parameter results: the remaining results, of which an added half takes the first.
        fileprivate func item(_ results: inout ArraySlice<KeychainStep.Result>) -> Item? {
            switch self {
            case .present(let item): item
            case .added: results.popFirst()?.added
            }
        }
    }

    var steps: [SearchList.Step] {
        switch self {
        case .one(let step): [step]
        case .identity(let certificate, let key): [certificate.step, key.step].compactMap { $0 }
        }
    }
}

extension ChangeResult {
    /// - Parameter results: the results of the planned steps.
    init(_ results: [KeychainStep.Result], of planned: [PlannedStep]) {
        self.init()
        var results = results[...]
        for step in planned {
            switch step {
            case .identity(let certificate, let key):
                let halves = (certificate.item(&results), key.item(&results))
                if case (let certificate?, let key?) = halves {
                    identities.append(Identity(certificate: certificate, key: key))
                }
            case .one(let step):
                switch (step, results.popFirst()) {
                case (_, .added(let item)): added.append(item)
                case (.update, .count(let count)): updatedCount += count
                case (_, .count(let count)): deletedCount += count
                case (_, .present), (_, nil): break
                }
            }
        }
    }
}

// Keychain semantics 1.8, "add".
extension KeychainSession {
    /// Plans the addition of an identity, once its access group is known to be open to the client.
    ///
    /// - Throws: `errSecDuplicateItem` where both halves are there already, or the key is, with another protection than is asked for.
    func plan(_ addition: IdentityAddition, purpose: String?) throws(KeychainError) -> PlannedStep {
        try checkEntitled(addition.attributes)
        var attributes = addition.attributes
        attributes[.accessGroup] = attributes[.accessGroup] ?? accessGroups.standard.map { .string($0) }
        // An attribute that neither certificates nor keys have is refused.
        _ = try ItemClass.identity.checked(attributes, for: .add)
        let keychain = try keychain(addition.keychain)
        try keychain.checkWritable()
        let use = purpose ?? String(localized: "store \(ItemClass.identity.anyNoun)")
        let certificate = try KeychainError.mapping { () throws(CryptoError) in
            try Certificate(der: addition.certificate)
        }
        let newCertificate = try NewItem.certificate(certificate, attributes.half(.certificate))
        // Attributes that both classes have, as the label, go to the certificate alone. The access group and the protection go to both.
        var ofKey = attributes.half(.key).filter { !ItemClass.certificate.has($0.key) }
        for shared in [Attribute.accessGroup, .synchronizable, .accessible, .accessControl] {
            ofKey[shared] = attributes[shared]
        }
        let key = try half(addition.key, of: certificate, ofKey, to: keychain, use: use)
        guard let present = try newCertificate.equal(in: keychain) else {
            return .identity(certificate: .added(.add(newCertificate, to: keychain)), key: key)
        }
        guard case .added = key else { throw KeychainError(.duplicateItem, "the identity is there already") }
        return .identity(certificate: .present(present), key: key)
    }

    /// Plans the private key of an identity that is added. Unlocks the keychain for a key that is not there yet.
    private func half(
        _ key: IdentityAddition.Key, of certificate: Certificate, _ attributes: Attributes, to keychain: any Keychain,
        use: String
    ) throws(KeychainError) -> PlannedStep.Half {
        let new: NewItem
        switch key {
        case .new(let encoded):
            let key = try KeychainError.mapping { () throws(CryptoError) in try PrivateKey(encoded: encoded.secret) }
            try certificate.check(key.publicKey.keyHash)
            new = try .privateKey(key, attributes)
        case .existing(let reference):
            let item = try reference.tokenID == nil ? keyItem(reference) : tokenKeyItem(reference)
            try certificate.check(item.publicKeyHash)
            if item.isOnToken || keychain.isIdentified(by: item.keychain) {
                try item.checkProtection(attributes)
                return .present(item)
            }
            new = try copy(of: item, attributes, use: use)
        }
        if let item = try new.equal(in: keychain) {
            try item.checkProtection(attributes)
            return .present(item)
        }
        try keychain.unlock(use: use, authentication: authentication)
        return .added(.add(new, to: keychain))
    }

    /// A copy of an item's private key, to be stored elsewhere and at least as protected as the key.
    ///
    /// - Throws: `errSecDataNotAvailable` for a key that is not extractable.
    func copy(of item: Item, _ attributes: Attributes, use: String) throws(KeychainError) -> NewItem {
        let name = item.label.flatMap { $0.isEmpty ? nil : " '\($0)'" } ?? ""
        guard item.isPrivateKey else {
            throw KeychainError(.param, "the key\(name) is not a private key", key: "v_Ref")
        }
        guard item[.isExtractable]?.isTrue ?? true else {
            throw KeychainError(.dataNotAvailable, "the key\(name) cannot be read out")
        }
        // An addition that cannot be carried out is refused before a person is asked.
        let protected = try KeyProtection(of: item.attributes).strengthened(by: attributes)
        let secret = try keychain(of: item).secret(of: item, use: use, authentication: authentication)
        guard let encoded = consume secret else {
            throw KeychainError(.itemNotFound, "the key\(name) is in no keychain here")
        }
        let key = try KeychainError.mapping { () throws(CryptoError) in try PrivateKey(encoded: encoded) }
        return try .privateKey(key, protected)
    }
}

extension Certificate {
    /// - Throws: `errSecParam` for another key's hash.
    fileprivate func check(_ hash: [UInt8]?) throws(KeychainError) {
        guard keyHash == hash else { throw KeychainError(.param, "the key is not the certificate's", key: "v_Ref") }
    }
}

extension Item {
    /// - Throws: `errSecDuplicateItem` for a key that is there already and not protected as was asked for.
    func checkProtection(_ asked: Attributes) throws(KeychainError) {
        for attribute in [Attribute.accessControl, .accessible, .isExtractable] {
            guard !isOnToken, let asked = asked[attribute], self[attribute]?.matches(asked) != true else { continue }
            throw KeychainError(
                .duplicateItem, "the key is in the keychain already, with another protection",
                remedy: "change it by an update", key: attribute.rawValue)
        }
    }
}

extension Attributes {
    /// The attributes that items of the class have.
    fileprivate func half(_ itemClass: ItemClass) -> Attributes { filter { itemClass.has($0.key) } }
}
