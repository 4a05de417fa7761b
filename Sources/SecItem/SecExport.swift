internal import KeychainModel
public import Foundation
internal import KeychainHost
internal import SecureBytes
internal import SystemCrypto

/// Encodes certificates, keys and identities in a file format.
///
/// - Parameters:
///   - secItemOrArray: a ``SecCertificate``, ``SecKey`` or ``SecIdentity``, or an array of them.
///   - outputFormat: the format. ``SecExternalFormat/formatUnknown`` chooses the usual one: for a single object X.509, PKCS #12,
///     OpenSSL's format, or PKCS #8 for a private key with a passphrase; for several objects a sequence of PEM.
///   - keyParams: the passphrase. PKCS #12, wrapped PKCS #8 and private keys of OpenSSH need one; in a sequence of PEM, private
///     keys are encrypted only with one.
///   - exportedData: unchanged where the function fails.
/// - Returns: `errSecDataNotAvailable` for a key that is on a card or not extractable, `errSecKeyIsSensitive` for a key that
///   may leave only encrypted, `errSecPassphraseRequired`, `errSecUnsupportedFormat`; `errSecParam` for an object that the
///   format cannot hold.
@discardableResult
public func SecItemExport(
    _ secItemOrArray: Any, _ outputFormat: SecExternalFormat, _ flags: SecItemImportExportFlags,
    _ keyParams: UnsafePointer<SecItemImportExportKeyParameters>?, _ exportedData: UnsafeMutablePointer<CFData?>
) -> OSStatus {
    status { () throws(KeychainError) in
        let parameters = try unsafe KeyFileParameters(keyParams)
        let export = try ItemExport(
            secItemOrArray as? [Any] ?? [secItemOrArray], parameters, isArmored: flags.contains(.pemArmour))
        unsafe exportedData.pointee = try export.data(outputFormat)
    }
}

/// The items to be exported.
private struct ItemExport {
    private var certificates: [SecCertificate] = []
    private var publicKeys: [SecKey] = []
    private var privateKeys: [SecKey] = []
    private var hasIdentity = false
    private let parameters: KeyFileParameters
    private let isArmored: Bool

    /// - Throws: `errSecParam` for an object that no file can hold.
    init(_ objects: [Any], _ parameters: KeyFileParameters, isArmored: Bool) throws(KeychainError) {
        (self.parameters, self.isArmored) = (parameters, isArmored)
        for object in objects {
            switch object {
            case let certificate as SecCertificate: certificates.append(certificate)
            case let identity as SecIdentity:
                guard let certificate = identity.certificate else { throw KeychainError(.decode) }
                hasIdentity = true
                certificates.append(certificate)
                privateKeys.append(identity.key)
            case let key as SecKey where key.isPrivate: privateKeys.append(key)
            case let key as SecKey where key.publicKey != nil: publicKeys.append(key)
            default:
                throw KeychainError(.param, "only certificates, keys of pairs and identities can be exported")
            }
        }
        guard !objects.isEmpty else { throw KeychainError(.param, "there is nothing to export") }
    }

    func data(_ format: SecExternalFormat) throws(KeychainError) -> Data {
        switch format {
        case .formatUnknown: return try data(usualFormat)
        case .formatX509Cert:
            try require(hasCertificatesAlone, "X.509 holds certificates only")
            try require(isArmored || certificates.count == 1, "several certificates in X.509 need PEM")
            return isArmored ? certificatesInPEM : Data(certificates[0].certificate.der)
        case .formatPKCS7:
            try require(hasCertificatesAlone, "PKCS #7 holds certificates only")
            return armored(CertificateSet.encode(certificates.map(\.certificate)), "PKCS7")
        case .formatPKCS12: return armored(try pkcs12(), "PKCS12")
        case .formatPEMSequence:
            return try certificatesInPEM + publicKeysInPEM + privateKeysInPEM(encrypted: parameters.passphrase != nil)
        case .formatOpenSSL:
            try requireKeys(isArmored ? .max : 1)
            if isArmored { return try publicKeysInPEM + privateKeysInPEM(encrypted: false) }
            guard let key = privateKeys.first else { return Data(publicKeys.compactMap(\.publicKey?.spki).joined()) }
            return Data(copying: try key.plainEncoding(inPEM: false))
        case .formatWrappedPKCS8:
            try requireKeys(isArmored ? .max : 1)
            try require(publicKeys.isEmpty, "a public key is not encrypted")
            if isArmored { return try privateKeysInPEM(encrypted: true) }
            return Data(try privateKeys[0].encryptedPKCS8(parameters.newPassphrase()))
        case .formatSSHv2:
            try requireKeys(.max)
            return try openSSH()
        case .formatSSH, .formatBSAFE, .formatRawKey, .formatWrappedOpenSSL, .formatWrappedSSH, .formatWrappedLSH,
            .formatNetscapeCertSequence:
            throw .unsupported(format)
        }
    }

    private var usualFormat: SecExternalFormat {
        switch (certificates.count, publicKeys.count, privateKeys.count) {
        case (1, 0, 0): .formatX509Cert
        case (1, 0, 1) where hasIdentity: .formatPKCS12
        case (0, 1, 0): .formatOpenSSL
        case (0, 0, 1): parameters.passphrase == nil ? .formatOpenSSL : .formatWrappedPKCS8
        default: .formatPEMSequence
        }
    }

    // MARK: Limits of the formats

    private var hasCertificatesAlone: Bool { privateKeys.isEmpty && publicKeys.isEmpty }

    private func require(_ isFitting: Bool, _ refusal: String) throws(KeychainError) {
        guard isFitting else { throw KeychainError(.param, refusal, key: "outputFormat") }
    }

    private func requireKeys(_ most: Int) throws(KeychainError) {
        try require(certificates.isEmpty, "the format holds keys only")
        try require(publicKeys.count + privateKeys.count <= most, "several keys in this format need PEM")
    }

    // MARK: The formats

    private func armored(_ der: [UInt8], _ label: String) -> Data {
        isArmored ? Data(PEM.encode(der, label: label).utf8) : Data(der)
    }

    private var certificatesInPEM: Data { Data(certificates.map(\.certificate.pem).joined().utf8) }

    private var publicKeysInPEM: Data {
        Data(publicKeys.compactMap(\.publicKey).map { PEM.encode($0.spki, label: "PUBLIC KEY") }.joined().utf8)
    }

    private func privateKeysInPEM(encrypted: Bool) throws(KeychainError) -> Data {
        var text = Data()
        for key in privateKeys {
            if encrypted {
                let der = try key.encryptedPKCS8(parameters.newPassphrase())
                text += Data(PEM.encode(der, label: "ENCRYPTED PRIVATE KEY").utf8)
            } else {
                text += Data(copying: try key.plainEncoding(inPEM: true))
            }
        }
        return text
    }

    private func openSSH() throws(KeychainError) -> Data {
        var text = Data()
        for key in publicKeys.compactMap(\.publicKey) {
            text += Data(try KeychainError.mapped { () throws(CryptoError) in try OpenSSHPublicKeys.line(key) }.utf8)
        }
        for key in privateKeys {
            let passphrase = try parameters.newPassphrase()
            let exported = try key.exported()
            text += Data(
                copying: try KeychainError.mapped { () throws(CryptoError) -> Secret in
                    try exported.encryptedOpenSSH(password: passphrase.secret)
                })
        }
        return text
    }

    /// The content of a PKCS #12 file. Certificates without keys are added as intermediate ones.
    private func pkcs12() throws(KeychainError) -> [UInt8] {
        try require(publicKeys.isEmpty, "a public key goes into PKCS #12 only with its certificate")
        try require(!privateKeys.isEmpty, "PKCS #12 is written for private keys and their certificates")
        let passphrase = try parameters.newPassphrase()
        var chain = certificates
        var identities: [PKCS12.Identity] = []
        for key in privateKeys {
            guard let certificate = certificates.first(where: { SecIdentityCreate(nil, $0, key) != nil }) else {
                throw KeychainError(.param, "a private key goes into PKCS #12 only with its certificate")
            }
            chain.removeAll { $0 == certificate }
            let exported = try key.exported()
            identities.append(
                try KeychainError.mapped { () throws(CryptoError) in
                    try PKCS12.Identity(exported, certificate.certificate, friendlyName: certificate.item?.label)
                })
        }
        return try KeychainError.mapped { () throws(CryptoError) in
            try PKCS12.create(identities, chain: chain.map(\.certificate), password: passphrase.secret)
        }
    }
}

extension SecKey {
    /// The private key, to leave its keychain.
    ///
    /// - Throws: `errSecDataNotAvailable` for a key that cannot leave its keychain, `errSecKeyIsSensitive` for a key that must not
    ///   leave it unencrypted.
    fileprivate func exported(encrypted: Bool = true) throws(KeychainError) -> PrivateKey {
        switch material {
        case .privateKey(let key): return key
        case .item(let item):
            let files = try Keychains.process.present(cards: false).locals
            guard !item.isOnToken, let keychain = files.first(where: { $0.isIdentified(by: item.keychain) }) else {
                throw KeychainError(
                    .dataNotAvailable, "the key '\(item.label ?? "")' is in no keychain that it could leave")
            }
            let authentication = try context?.authentication ?? Keychains.authentication
            return try keychain.exportKey(item.reference, encrypted: encrypted, authentication: authentication)
        case .publicKey, .symmetricKey: throw KeychainError(.dataNotAvailable, "the key has no private half")
        }
    }

    fileprivate func encryptedPKCS8(_ passphrase: SharedSecret) throws(KeychainError) -> [UInt8] {
        let key = try exported()
        return try KeychainError.mapped { () throws(CryptoError) in try key.encryptedPKCS8(password: passphrase.secret)
        }
    }

    /// PKCS #1 for an RSA key, SEC 1 for an EC key, PKCS #8 for others: OpenSSL's first format for each.
    fileprivate func plainEncoding(inPEM: Bool) throws(KeychainError) -> Secret {
        let key = try exported(encrypted: false)
        let label =
            switch key.kind {
            case .rsa: "RSA PRIVATE KEY"
            case let kind where kind.isEC: "EC PRIVATE KEY"
            default: "PRIVATE KEY"
            }
        let der = try KeychainError.mapped { () throws(CryptoError) -> Secret in
            label == "PRIVATE KEY" ? try key.pkcs8() : try key.algorithmEncoding()
        }
        return inPEM ? PEM.encode(der, label: label) : der
    }
}
