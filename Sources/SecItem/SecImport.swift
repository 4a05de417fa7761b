public import Foundation
internal import KeychainHost
internal import SecureBytes
internal import SystemCrypto

public let kSecImportExportPassphrase: CFString = "passphrase"
public let kSecImportItemLabel: CFString = "label"
public let kSecImportItemKeyID: CFString = "keyid"
public let kSecImportItemTrust: CFString = "trust"
public let kSecImportItemCertChain: CFString = "chain"
public let kSecImportItemIdentity: CFString = "identity"

/// Reads the identities of a PKCS #12 file. They are in no keychain before ``SecItemAdd(_:_:)`` adds them.
///
/// - Parameters:
///   - options: ``kSecImportExportPassphrase``.
///   - items: gets a dictionary for each identity: ``kSecImportItemIdentity``, ``kSecImportItemKeyID``,
///     ``kSecImportItemCertChain`` and, where there is one, ``kSecImportItemLabel``.
/// - Returns: `errSecAuthFailed` for a wrong passphrase, `errSecPassphraseRequired` where there is none, `errSecDecode` for
///   other data.
@discardableResult
public func SecPKCS12Import(
    _ pkcs12_data: CFData, _ options: CFDictionary, _ items: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    status { () throws(KeychainError) in
        let options = try [String: Any](options)
        if let key = options.keys.first(where: { $0 != kSecImportExportPassphrase }) {
            throw KeychainError(.param, "there is no option \(key)", key: key)
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
        guard let text = passphrase as? String else {
            throw KeychainError(.param, "the passphrase is not text", key: kSecImportExportPassphrase)
        }
        var bytes = Array(text.utf8)
        let password = Secret(consuming: &bytes)
        self = try KeychainError.mapped { () throws(CryptoError) in try PKCS12.parse(der, password: password) }
    }

    /// What is told of the identity of a key; nil where the file has no certificate of it.
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
    /// The certificate, its issuer, and so on, as far as they are among the others. Signatures are not looked at.
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
