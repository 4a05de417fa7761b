public import HostAPI
public import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto

// Files of certificates and keys that are read.
extension Host {
    public func importFile(
        _ request: ImportRequest, _ context: RequestContext
    ) throws(KeychainError) -> ImportedContent {
        guard let target = request.target else {
            return try run(context) { ticket throws(KeychainError) in
                try ImportedFile(request, asking: authentication(context, ticket)).content
            }
        }
        return try visit(context, onToken: false) { visit throws(KeychainError) in
            let keychain = try visit.session.file(target.keychain)
            try keychain.checkWritable()
            let file = try ImportedFile(request, asking: visit.session.authentication)
            try visit.ticket.check()
            let items = try visit.session.add(file, as: target, to: keychain, use: visit.use("import a key"))
            return ImportedContent(file.format, .items(items), others: file.others)
        }
    }
}

extension KeychainSession {
    /// Adds all items of a file, or none of them.
    fileprivate func add(
        _ file: ImportedFile, as target: ImportRequest.Target, to keychain: LocalKeychain, use: String
    ) throws(KeychainError) -> [ImportedItem] {
        for attributes in [target.certificates, target.keys, target.privateKeys] { try checkEntitled(attributes) }
        try file.checkUse(of: target)
        if !file.keys.isEmpty { try keychain.unlock(use: use, authentication: authentication) }
        var steps: [KeychainStep] = []
        try file.forEachItem(
            { $0 == .key ? target.keys : target.certificates }, privateKeys: target.privateKeys
        ) { new throws(KeychainError) in
            let new = new.defaulting(to: accessGroups.standard)
            steps.append(.addIfAbsent(try keychain.prepared(new, authentication: authentication)))
        }
        let items = try keychain.carryOut(steps) { (results) throws(KeychainError) in
            try results.map { (result) throws(KeychainError) in
                switch result {
                case .added(let item): return ImportedItem(item, isNew: true)
                case .present(let item):
                    if target.requiresProtection, item.isPrivateKey { try item.checkProtection(target.privateKeys) }
                    return ImportedItem(item, isNew: false)
                case .count: throw KeychainError(.internal)
                }
            }
        }
        // The decision is written to the keychain, once the change is done.
        for item in items where item.isNew { authentication.noteCreated(item.item, in: keychain) }
        return items
    }
}

extension ImportedFile {
    fileprivate init(_ request: ImportRequest, asking authentication: AuthenticationContext) throws(KeychainError) {
        let source: FilePassphrase.Source =
            switch request.passphrase {
            case .none: .none
            case .given(let passphrase): .given(passphrase)
            case .asked: .asking(authentication)
            }
        var bytes = request.file.secret.copied()
        try self.init(
            &bytes, named: request.name, kind: request.kind, format: request.format,
            passphrase: FilePassphrase(source, of: request.name))
        guard !request.refusesSeveralKeys || keys.count <= 1 else {
            throw KeychainError(.multiplePrivateKeys, "'\(request.name)' has \(keys.count) private keys")
        }
    }

    fileprivate var content: ImportedContent {
        get throws(KeychainError) {
            var privateKeys: [SharedSecret] = []
            for key in keys {
                privateKeys.append(
                    SharedSecret(try KeychainError.mapping { () throws(CryptoError) in try key.pkcs8() }))
            }
            return ImportedContent(format, .objects(certificates, publicKeys, privateKeys: privateKeys), others: others)
        }
    }

    /// - Throws: `errSecNoSuchAttr` for an attribute that nothing in the file would get.
    fileprivate func checkUse(of target: ImportRequest.Target) throws(KeychainError) {
        let hasKeys = !publicKeys.isEmpty || !keys.isEmpty
        let ofCertificates = certificates.isEmpty ? [] : target.certificates.keys.filter(ItemClass.certificate.has)
        let ofKeys = hasKeys ? target.keys.keys.filter(ItemClass.key.has) : []
        let useless = Set(target.certificates.keys).union(target.keys.keys).subtracting(ofCertificates + ofKeys)
        guard let useless = useless.min(by: { $0.rawValue < $1.rawValue }) else { return }
        throw KeychainError(
            .noSuchAttribute, "nothing in the file can have the attribute '\(useless.rawValue)'", key: useless.rawValue)
    }
}
