public import Foundation
internal import HostAPI
internal import KeychainModel
internal import Localization
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
        let items = try ItemsToExport(secItemOrArray as? [Any] ?? [secItemOrArray])
        let usual = items.usualFormat(hasPassphrase: parameters.passphrase != nil)
        var request = ExportRequest(
            items.objects, as: try (outputFormat == .formatUnknown ? usual : outputFormat).exported())
        request.isArmored = flags.contains(.pemArmour)
        request.passphrase = parameters.source
        // In a sequence of PEM, no person is asked for a passphrase.
        if request.format == .pemSequence, parameters.passphrase == nil { request.passphrase = .none }
        if let prompt = parameters.prompt { request.subject = prompt }
        let file = try Keychains.host.exportFile(request, Keychains.request(items.context))
        unsafe exportedData.pointee = Data(copying: file.secret)
    }
}

/// The items to be exported.
private struct ItemsToExport {
    private(set) var objects: [ExportRequest.Object] = []
    /// The context of the first private key that has one.
    private(set) var context: LAContext?
    private var hasIdentity = false

    /// - Throws: `errSecParam` for an object that no file can hold.
    init(_ objects: [Any]) throws(KeychainError) {
        for object in objects {
            switch object {
            case let certificate as SecCertificate: add(certificate)
            case let identity as SecIdentity:
                guard let certificate = identity.certificate else { throw KeychainError(.decode) }
                hasIdentity = true
                add(certificate)
                try add(identity.key)
            case let key as SecKey: try add(key)
            default: throw .notExportable
            }
        }
    }

    private mutating func add(_ certificate: SecCertificate) {
        objects.append(.certificate(certificate.certificate, name: certificate.item?.label))
    }

    private mutating func add(_ key: SecKey) throws(KeychainError) {
        if key.isPrivate {
            objects.append(.privateKey(try key.key(for: .sign)))
            context = context ?? key.context
        } else if let publicKey = key.publicKey {
            objects.append(.publicKey(publicKey))
        } else {
            throw .notExportable
        }
    }

    func usualFormat(hasPassphrase: Bool) -> SecExternalFormat {
        switch (objects.first, objects.last, objects.count) {
        case (.certificate, _, 1): .formatX509Cert
        case (.certificate, .privateKey, 2) where hasIdentity: .formatPKCS12
        case (.publicKey, _, 1): .formatOpenSSL
        case (.privateKey, _, 1): hasPassphrase ? .formatWrappedPKCS8 : .formatOpenSSL
        default: .formatPEMSequence
        }
    }
}

extension SecExternalFormat {
    /// - Throws: `errSecUnsupportedFormat` for a format that nothing here writes.
    fileprivate func exported() throws(KeychainError) -> ExportRequest.Format {
        switch self {
        case .formatX509Cert: .x509
        case .formatPKCS7: .pkcs7
        case .formatPKCS12: .pkcs12
        case .formatPEMSequence: .pemSequence
        case .formatOpenSSL: .openssl
        case .formatWrappedPKCS8: .pkcs8
        case .formatSSHv2: .openssh
        case .formatUnknown, .formatSSH, .formatBSAFE, .formatRawKey, .formatWrappedOpenSSL, .formatWrappedSSH,
            .formatWrappedLSH, .formatNetscapeCertSequence:
            throw .unsupported(self)
        }
    }
}

extension KeychainError {
    fileprivate static var notExportable: KeychainError {
        KeychainError(.param, "only certificates, keys of pairs and identities can be exported")
    }
}
