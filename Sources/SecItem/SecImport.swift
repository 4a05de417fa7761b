internal import HostAPI
internal import KeychainModel
public import Foundation
internal import ItemDictionaries
internal import KeychainCalls
internal import Localization
internal import SecureBytes
internal import SystemCrypto

public let kSecImportExportPassphrase: CFString = "passphrase"
public let kSecImportToMemoryOnly: CFString = "memory"
// SecPKCS12Import refuses the next two as options: identities are added by SecItemAdd.
public let kSecImportExportKeychain: CFString = "keychain"
public let kSecImportExportAccess: CFString = "access"
public let kSecImportItemLabel: CFString = "label"
public let kSecImportItemKeyID: CFString = "keyid"
public let kSecImportItemTrust: CFString = "trust"
public let kSecImportItemCertChain: CFString = "chain"
public let kSecImportItemIdentity: CFString = "identity"

/// Reads the identities of a PKCS #12 file, without adding them to a keychain. ``SecItemAdd(_:_:)`` adds them.
///
/// - Parameters:
///   - options: ``kSecImportExportPassphrase``; ``kSecUseDataProtectionKeychain``, which has no effect, since there is one kind of
///     keychains; ``kSecImportToMemoryOnly``, which must not be false.
///   - items: receives a dictionary for each identity: ``kSecImportItemIdentity``, ``kSecImportItemKeyID``,
///     ``kSecImportItemCertChain``, ``kSecImportItemTrust`` and, where there is one, ``kSecImportItemLabel``.
/// - Returns: `errSecAuthFailed` for a wrong passphrase, `errSecPassphraseRequired` for a missing one, `errSecDecode` for
///   other data.
@discardableResult
public func SecPKCS12Import(
    _ pkcs12_data: CFData, _ options: CFDictionary, _ items: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    status { () throws(KeychainError) in
        let options = try [String: Any](options)
        let known = [kSecImportExportPassphrase, kSecUseDataProtectionKeychain, kSecImportToMemoryOnly]
        if let key = options.keys.first(where: { !known.contains($0) }) {
            throw KeychainError(.param, "there is no option \(key)", key: key)
        }
        guard options[kSecImportToMemoryOnly] as? Bool ?? true else {
            throw KeychainError(
                .param, "identities are read, and not added", remedy: "add them with SecItemAdd",
                key: kSecImportToMemoryOnly)
        }
        let file = try PKCS12(pkcs12_data, passphrase: options[kSecImportExportPassphrase])
        unsafe items.pointee = file.keys.compactMap { key in file.item(of: key) }
    }
}

extension PKCS12 {
    fileprivate init(_ data: Data, passphrase: Any?) throws(KeychainError) {
        let der = [UInt8](data)
        guard let passphrase else {
            self = try KeychainError.mapped { () throws(CryptoError) in try PKCS12.parse(der) }
            return
        }
        let password = try Secret(passphrase: passphrase)
        self = try KeychainError.mapped { () throws(CryptoError) in try PKCS12.parse(der, password: password) }
    }

    /// The result for a key's identity; nil where the file has no certificate of the key.
    fileprivate func item(of key: PrivateKey) -> [String: Any]? {
        let hash = key.publicKey.keyHash
        guard let certificate = certificates.first(where: { $0.keyHash == hash }) else { return nil }
        let chain = certificate.chain(through: certificates)
        var item: [String: Any] = [
            kSecImportItemIdentity: SecIdentity(.imported(certificate, key)), kSecImportItemKeyID: Data(hash),
            kSecImportItemCertChain: chain.map { SecCertificate($0) },
            kSecImportItemTrust: SecTrust(chain, [SecPolicyCreateBasicX509()]),
        ]
        item[kSecImportItemLabel] = friendlyNames[hash] ?? certificate.commonName
        return item
    }
}

extension Certificate {
    /// The certificate, its issuer, and so on, as far as they are among the others. Signatures are not checked.
    func chain(through others: [Certificate]) -> [Certificate] {
        var chain = [self]
        while let last = chain.last,
            let issuer = others.first(where: { $0.subject == last.issuer && !chain.contains($0) })
        {
            chain.append(issuer)
        }
        return chain
    }
}

/// Reads the certificates and keys of a file, and adds all of them or none to the keychain, if one is given.
///
/// A PKCS #12 file gives identities for its private keys that have certificates. Items that are in the keychain already stay
/// unchanged.
///
/// - Parameters:
///   - fileNameOrExtension: the file's name in the log and in prompts. The format follows from the data.
///   - inputFormat: the format that the file must have, or ``SecExternalFormat/formatUnknown``; receives the format that it has.
///   - itemType: the kind of items that are wanted, or ``SecExternalItemType/itemTypeUnknown``; receives the kind that it has.
///   - flags: ignored, since PEM is recognised by its lines.
///   - keyParams: the passphrase, and `keyUsage` and `keyAttributes` for private keys that are added to the keychain.
///   - outItems: receives references to the keychain's items, or without a keychain to objects in memory.
/// - Returns: `errSecUnknownFormat`, `errSecUnsupportedFormat`, `errSecDecode`, `errSecPassphraseRequired`; for a wrong passphrase
///   `errSecPkcs12VerifyFailure` or, of a key, `errSecAuthFailed`; `errSecMultiplePrivKeys`; `errSecDataTooLarge` for more than 1 MiB;
///   `errSecDuplicateItem` where the keychain has everything already.
@discardableResult
public func SecItemImport(
    _ importedData: CFData, _ fileNameOrExtension: CFString?, _ inputFormat: UnsafeMutablePointer<SecExternalFormat>?,
    _ itemType: UnsafeMutablePointer<SecExternalItemType>?, _ flags: SecItemImportExportFlags,
    _ keyParams: UnsafePointer<SecItemImportExportKeyParameters>?, _ importKeychain: SecKeychain?,
    _ outItems: UnsafeMutablePointer<CFArray?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        let parameters = try unsafe KeyFileParameters(keyParams)
        var request = ImportRequest(
            SharedSecret(Secret(copying: importedData)),
            named: parameters.prompt ?? fileNameOrExtension ?? "the data")
        request.kind = unsafe itemType?.pointee.wanted ?? .agg
        request.format = try unsafe inputFormat?.pointee.expected()
        request.passphrase = parameters.source
        request.refusesSeveralKeys = parameters.flags.contains(.importOnlyOne)
        if let importKeychain {
            let keychain = try Keychains.caller.keychain(at: importKeychain.path).keychain.identifier
            request.target = ImportRequest.Target(keychain)
            request.target?.privateKeys = parameters.attributes
            request.target?.requiresProtection = true
        }
        let imported = try Keychains.host.importFile(request, Keychains.request(nil))
        let objects = try imported.objects
        unsafe outItems?.pointee =
            imported.format == .pkcs12 ? SecIdentity.paired(objects.map(\.object)) : objects.map(\.object)
        unsafe inputFormat?.pointee = imported.externalFormat(objects.map(\.type))
        unsafe itemType?.pointee = imported.externalType(objects.map(\.type))
    }
}

extension SecExternalFormat {
    /// - Throws: `errSecUnsupportedFormat` for a format that nothing here reads.
    fileprivate func expected() throws(KeychainError) -> ImportRequest.Format? {
        switch self {
        case .formatUnknown: nil
        case .formatOpenSSL, .formatWrappedOpenSSL: .openssl
        case .formatWrappedPKCS8: .pkcs8
        case .formatX509Cert: .x509
        case .formatPEMSequence: .pemseq
        case .formatPKCS7: .pkcs7
        case .formatPKCS12: .pkcs12
        case .formatSSHv2: .openssh2
        case .formatSSH, .formatBSAFE, .formatRawKey, .formatWrappedSSH, .formatWrappedLSH, .formatNetscapeCertSequence:
            throw .unsupported(self)
        }
    }
}

extension SecExternalItemType {
    fileprivate var wanted: ImportRequest.Kind {
        switch self {
        case .itemTypeUnknown, .itemTypeAggregate: .agg
        case .itemTypePrivateKey: .priv
        case .itemTypePublicKey: .pub
        case .itemTypeSessionKey: .session
        case .itemTypeCertificate: .cert
        }
    }
}

extension ImportedContent {
    /// The objects of the file with their types: those of the keychain that took it, or in memory.
    ///
    /// - Throws: `errSecDuplicateItem` where the keychain had everything already.
    fileprivate var objects: [(object: AnyObject, type: SecExternalItemType)] {
        get throws(KeychainError) {
            switch content {
            case .objects(let certificates, let publicKeys, let privateKeys):
                var objects: [(object: AnyObject, type: SecExternalItemType)] = []
                objects += certificates.map { (SecCertificate($0), .itemTypeCertificate) }
                objects += publicKeys.map { (SecKey(.publicKey($0)), .itemTypePublicKey) }
                for encoded in privateKeys {
                    let key = try KeychainError.mapped { () throws(CryptoError) in
                        try PrivateKey(encoded: encoded.secret)
                    }
                    objects.append((SecKey(.privateKey(key)), .itemTypePrivateKey))
                }
                return objects
            case .items(let items):
                guard items.contains(where: \.isNew) else { throw KeychainError(.duplicateItem) }
                return items.map { imported in
                    let item = imported.item
                    let keyType: SecExternalItemType = item.isPrivateKey ? .itemTypePrivateKey : .itemTypePublicKey
                    return (
                        ItemReference.item(item).object(used: nil),
                        item.itemClass == .certificate ? .itemTypeCertificate : keyType
                    )
                }
            }
        }
    }

    /// The format of the file. A single object in PEM has the same format as in DER.
    fileprivate func externalFormat(_ types: [SecExternalItemType]) -> SecExternalFormat {
        switch format {
        case .x509: .formatX509Cert
        case .pkcs7: .formatPKCS7
        case .pkcs12: .formatPKCS12
        case .key: .formatOpenSSL
        case .pem:
            switch externalType(types) {
            case .itemTypeCertificate: .formatX509Cert
            case .itemTypePublicKey, .itemTypePrivateKey: .formatOpenSSL
            default: .formatPEMSequence
            }
        }
    }

    fileprivate func externalType(_ types: [SecExternalItemType]) -> SecExternalItemType {
        guard types.count == 1, format == .pem || format == .x509 || format == .key else { return .itemTypeAggregate }
        return types[0]
    }
}

extension SecIdentity {
    /// Replaces each private key and its certificate, if that is among the objects, by an identity.
    fileprivate static func paired(_ objects: [AnyObject]) -> [AnyObject] {
        let certificates = objects.compactMap { $0 as? SecCertificate }
        var taken: Set<SecCertificate> = []
        let others = objects.filter { !($0 is SecCertificate) }.map { object -> AnyObject in
            guard let key = object as? SecKey else { return object }
            for certificate in certificates {
                guard let identity = SecIdentityCreate(nil, certificate, key) else { continue }
                taken.insert(certificate)
                return identity
            }
            return key
        }
        return others + certificates.filter { !taken.contains($0) }
    }
}
