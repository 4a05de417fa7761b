internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto

/// The addition that a dictionary describes, and the data of the new item that it asks for.
struct ItemAddition {
    let step: ChangeStep
    let data: ItemValue?

    /// - Throws: the error of data that cannot be returned; `errSecParam` and its kin, naming the key, for what cannot be honoured.
    init(
        _ parsed: ParsedDictionary, service: any KeychainService, _ context: RequestContext
    ) throws(KeychainError) {
        guard let itemClass = parsed.itemClass else { throw KeychainError(.param, key: "class") }
        if parsed.reference != nil, parsed.data != nil {
            throw KeychainError(.param, "there is a reference as well", remedy: "leave one out", key: "v_Data")
        }
        if itemClass == .identity {
            let addition = try IdentityAddition(parsed)
            step = .addIdentity(addition)
            data = parsed.returns.contains(.data) ? .data(addition.certificate) : nil
        } else if case .item(let item) = parsed.reference, item.isPrivateKey {
            step = .copy(item.reference, parsed.attributes, to: parsed.target)
            data = try KeyCopy(item, parsed.attributes).data(parsed.returns) { () throws(KeychainError) in
                try service.secret(of: item.reference, context)?.secret.clone()
            }
        } else {
            let new = try NewItem(parsed, itemClass)
            step = .add(Addition(new, to: parsed.target))
            data = try new.data(parsed.returns) { new.secret?.secret.clone() }
        }
    }
}

/// The copy of a private key that will be added.
private struct KeyCopy: ItemContent {
    let itemClass = ItemClass.key
    let attributes: Attributes
    let der: [UInt8]?

    init(_ item: Item, _ attributes: Attributes) throws(KeychainError) {
        let protected = try KeyProtection(of: item.attributes).strengthened(by: attributes)
        self.attributes = protected.merging([.keyClass: KeyClass.private.value]) { $1 }
        der = item.der
    }
}

extension IdentityAddition {
    fileprivate init(_ parsed: ParsedDictionary) throws(KeychainError) {
        let (certificate, key): (Certificate, Key)
        switch parsed.reference {
        case .keyPair(let given, let privateKey):
            let encoded = try KeychainError.mapping { () throws(CryptoError) in try privateKey.pkcs8() }
            (certificate, key) = (given, .new(SharedSecret(encoded)))
        case .identity(let identity):
            guard let stored = identity.certificate.certificate else { throw KeychainError(.decode, key: "v_Ref") }
            (certificate, key) = (stored, .existing(identity.key.reference))
        case .certified(let given, let item): (certificate, key) = (given, .existing(item.reference))
        default: throw KeychainError(.param, "an identity is added by reference", key: "v_Ref")
        }
        self.init(certificate: certificate.der, key: key, parsed.attributes, to: parsed.target)
    }
}

extension NewItem {
    /// The item that a dictionary describes, by its data or by a reference.
    fileprivate init(_ parsed: ParsedDictionary, _ itemClass: ItemClass) throws(KeychainError) {
        let attributes = parsed.attributes
        switch parsed.reference {
        case .certificate(let certificate): self = try .certificate(certificate, attributes)
        case .publicKey(let key): self = try .publicKey(key, attributes)
        case .privateKey(let key): self = try .privateKey(key, attributes)
        case .symmetricKey(let key):
            guard let secret = key.secret else { throw .unfitting("v_Ref") }
            // The stored key is protected no less than the one in memory.
            let given = try KeyProtection(of: key.attributes).strengthened(by: attributes)
            self = try .symmetricKey(
                secret.secret.clone(), type: key.keyType, key.attributes.merging(given) { $1 })
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
