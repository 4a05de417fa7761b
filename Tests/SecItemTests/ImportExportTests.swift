import Foundation
import SecItem
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit

/// SecItemImport and SecItemExport.
@Suite struct ImportExportTests {
    private let key = try! PrivateKey.generate(.ecP256)

    private func certificate(_ name: String = "Jo") throws -> SecCertificate {
        let builder = try CertificateBuilder(
            commonName: name, publicKey: key.publicKey, notBefore: 1_600_000_000, notAfter: 4_000_000_000)
        return try #require(SecCertificateCreateWithData(nil, Data(builder.selfSigned(by: key).der)))
    }

    private func secKey() throws -> SecKey {
        let attributes: [String: Any] = [kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeyClass: kSecAttrKeyClassPrivate]
        let secret = try key.externalRepresentation()
        let bytes = secret.bytes
        let data = Data(bytes.indices.map { bytes[$0] })
        return try #require(SecKeyCreateWithData(data, attributes as CFDictionary, nil))
    }

    private func identity() throws -> SecIdentity {
        try #require(SecIdentityCreate(nil, certificate(), secKey()))
    }

    @Test func eachFormatIsReadAsItIsWritten() throws {
        let (certificate, key, identity) = (try certificate(), try secKey(), try identity())
        let publicKey = try #require(SecKeyCopyPublicKey(key))
        let cases: [(Any, SecExternalFormat, SecExternalFormat, SecExternalItemType, [AnyObject])] = [
            (certificate, .formatUnknown, .formatX509Cert, .itemTypeCertificate, [certificate]),
            ([certificate], .formatX509Cert, .formatX509Cert, .itemTypeCertificate, [certificate]),
            ([certificate], .formatPKCS7, .formatPKCS7, .itemTypeAggregate, [certificate]),
            (publicKey, .formatOpenSSL, .formatOpenSSL, .itemTypePublicKey, [publicKey]),
            (publicKey, .formatSSHv2, .formatOpenSSL, .itemTypePublicKey, [publicKey]),
            (key, .formatUnknown, .formatOpenSSL, .itemTypePrivateKey, [key]),
            (key, .formatWrappedPKCS8, .formatOpenSSL, .itemTypePrivateKey, [key]),
            (key, .formatSSHv2, .formatOpenSSL, .itemTypePrivateKey, [key]),
            (identity, .formatPKCS12, .formatPKCS12, .itemTypeAggregate, [identity]),
            ([certificate, key], .formatPEMSequence, .formatPEMSequence, .itemTypeAggregate, [certificate, key]),
        ]
        for (items, written, format, type, expected) in cases {
            for flags in [[], .pemArmour] as [SecItemImportExportFlags] {
                let needsPassphrase = [.formatWrappedPKCS8, .formatPKCS12].contains(written) || written == .formatSSHv2
                let data = try Self.export(items, written, flags, needsPassphrase ? "secret" : nil)
                let read = try Self.read(data, needsPassphrase ? "secret" : nil)
                #expect(read.format == format, "\(written)")
                #expect(read.type == type, "\(written)")
                #expect(read.items.map(Self.description) == expected.map(Self.description), "\(written)")
            }
        }
    }

    @Test func whatAFileIsSaidToBeHasToBeSo() throws {
        let data = try Self.export(certificate(), .formatX509Cert)
        var (format, type) = (SecExternalFormat.formatPKCS12, SecExternalItemType.itemTypeUnknown)
        #expect(SecItemImport(data, nil, &format, nil, [], nil, nil, nil) == errSecUnknownFormat)
        #expect(format == .formatPKCS12)
        format = .formatBSAFE
        #expect(SecItemImport(data, nil, &format, nil, [], nil, nil, nil) == errSecUnsupportedFormat)
        type = .itemTypePrivateKey
        #expect(SecItemImport(data, nil, nil, &type, [], nil, nil, nil) == errSecUnknownFormat)
        type = .itemTypeSessionKey
        #expect(SecItemImport(data, nil, nil, &type, [], nil, nil, nil) == errSecUnsupportedFormat)
        #expect(SecItemImport(Data([1, 2, 3]), nil, nil, nil, [], nil, nil, nil) == errSecUnknownFormat)
        #expect(SecItemImport(Data(count: 1 << 25), nil, nil, nil, [], nil, nil, nil) == errSecDataTooLarge)
    }

    @Test func aPassphraseIsNeededAndHasToBeRight() throws {
        let cases: [(Any, SecExternalFormat, OSStatus)] = [
            (try identity(), .formatPKCS12, errSecPkcs12VerifyFailure),
            (try secKey(), .formatWrappedPKCS8, errSecAuthFailed),
            (try secKey(), .formatSSHv2, errSecAuthFailed),
        ]
        for (item, format, refusal) in cases {
            var none: CFData?
            #expect(SecItemExport(item, format, [], nil, &none) == errSecPassphraseRequired, "\(format)")
            #expect(none == nil)
            let data = try Self.export(item, format, [], "secret")
            #expect(SecItemImport(data, nil, nil, nil, [], nil, nil, nil) == errSecPassphraseRequired, "\(format)")
            #expect(throws: Home.Failure.self) { try Self.read(data, "wrong") }
            #expect(Self.outcome(reading: data, "wrong") == refusal, "\(format)")
        }
        var parameters = SecItemImportExportKeyParameters(version: 5)
        #expect(SecItemImport(Data(), nil, nil, nil, [], &parameters, nil, nil) == errSecParam)
        let number = NSNumber(value: 5)
        parameters = SecItemImportExportKeyParameters(passphrase: .passUnretained(number))
        #expect(SecItemImport(Data(), nil, nil, nil, [], &parameters, nil, nil) == errSecParam)
        withExtendedLifetime(number) {}
    }

    @Test func aFormatTakesOnlyWhatItHasAPlaceFor() throws {
        let (certificate, key) = (try certificate(), try secKey())
        let refused: [(Any, SecExternalFormat, OSStatus)] = [
            ([Any](), .formatPEMSequence, errSecParam), (["text"], .formatPEMSequence, errSecParam),
            (key, .formatX509Cert, errSecParam), ([certificate, certificate], .formatX509Cert, errSecParam),
            (certificate, .formatOpenSSL, errSecParam), ([key, key], .formatOpenSSL, errSecParam),
            (certificate, .formatPKCS12, errSecParam), (key, .formatBSAFE, errSecUnsupportedFormat),
        ]
        for (item, format, code) in refused {
            var data: CFData?
            #expect(SecItemExport(item, format, [], nil, &data) == code, "\(format)")
            #expect(data == nil)
        }
    }

    @Test func aFileOfTwoKeysIsRefusedWhereOneIsWanted() throws {
        let other = try #require(SecKeyCreateRandomKey([kSecAttrKeyType: kSecAttrKeyTypeEC] as CFDictionary, nil))
        let data = try Self.export([secKey(), other], .formatPEMSequence)
        var parameters = SecItemImportExportKeyParameters(flags: .importOnlyOne)
        #expect(SecItemImport(data, nil, nil, nil, [], &parameters, nil, nil) == errSecMultiplePrivKeys)
    }

    @Test func whatIsImportedIsInTheKeychainOnce() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let other = try home.keychain("other")
            let data = try Self.export(Self().identity(), .formatPKCS12, [], "secret")
            let identity = try #require(Self.read(data, "secret", into: other).items.first as? SecIdentity)
            #expect(status(of: [kSecValueRef: identity, kSecMatchSearchList: [other]]) == errSecSuccess)
            #expect(Self.outcome(reading: data, "secret", into: other) == errSecDuplicateItem)
            // The second export reads the key from the keychain.
            let again = try Self.export(identity, .formatPKCS12, [], "other")
            #expect(try Self.read(again, "other").items.map(Self.description) == [Self.description(identity)])
        }
    }

    @Test func aKeyThatIsNotExtractableStaysWhereItIs() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let login = try #require(Self.defaultKeychain())
            let data = try Self.export(Self().secKey(), .formatWrappedPKCS8, [], "secret")
            let signs: NSArray = [kSecAttrCanSign]
            let key = try #require(
                Self.read(data, "secret", into: login, keyUsage: signs, keyAttributes: []).items.first as? SecKey)
            let attributes = try #require(SecKeyCopyAttributes(key) as? [String: Any])
            #expect(attributes[kSecAttrCanSign] as? Bool == true)
            #expect(attributes[kSecAttrCanDerive] as? Bool == false)
            #expect(attributes[kSecAttrLabel] as? String == "Imported Private Key")
            for format in [.formatOpenSSL, .formatWrappedPKCS8, .formatSSHv2] as [SecExternalFormat] {
                #expect(throws: Home.Failure(status: errSecDataNotAvailable)) {
                    try Self.export(key, format, [], "secret")
                }
            }
            // A key that is there already does not become extractable, and the import reports the duplicate.
            #expect(Self.outcome(reading: data, "secret", into: login) == errSecDuplicateItem)
        }
    }

    @Test func aSensitiveKeyLeavesOnlyEncrypted() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let login = try #require(Self.defaultKeychain())
            let data = try Self.export(Self().secKey(), .formatOpenSSL)
            let attributes: NSArray = [kSecAttrIsSensitive, kSecAttrIsExtractable]
            let key = try #require(
                Self.read(data, nil, into: login, keyAttributes: attributes).items.first as? SecKey)
            #expect(throws: Home.Failure(status: errSecKeyIsSensitive)) { try Self.export(key, .formatOpenSSL) }
            #expect(try Self.read(Self.export(key, .formatWrappedPKCS8, [], "x"), "x").type == .itemTypePrivateKey)
        }
    }

    /// Identities from both functions are added the same way.
    @Test func anImportedIdentityIsAddedTheSameWay() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let data = try Self.export(Self().identity(), .formatPKCS12, [], "secret")
            var items: CFArray?
            #expect(SecPKCS12Import(data, [kSecImportExportPassphrase: "secret"], &items) == errSecSuccess)
            let first = try #require((items?.first as? [String: Any])?[kSecImportItemIdentity] as? SecIdentity)
            let second = try #require(Self.read(data, "secret").items.first as? SecIdentity)
            var results: [NSDictionary] = []
            for (name, identity) in [("first", first), ("second", second)] {
                let keychain = try home.keychain(name)
                let query: [String: Any] = [
                    kSecValueRef: identity, kSecUseKeychain: keychain, kSecAttrLabel: "mine",
                    kSecReturnAttributes: true,
                ]
                var result: CFTypeRef?
                #expect(SecItemAdd(query as CFDictionary, &result) == errSecSuccess)
                #expect(SecItemAdd(query as CFDictionary, nil) == errSecDuplicateItem)
                let own = try #require(result as? NSDictionary).mutableCopy() as! NSMutableDictionary
                for time in [kSecAttrCreationDate, kSecAttrModificationDate] { own[time] = nil }
                results.append(own)
                for itemClass in [kSecClassCertificate, kSecClassKey, kSecClassIdentity] {
                    let search: [String: Any] = [kSecClass: itemClass, kSecMatchSearchList: [keychain]]
                    #expect(status(of: search) == errSecSuccess)
                }
            }
            #expect(results[0] == results[1])
        }
    }

    // MARK: - Calls

    private static func parameters<Result>(
        _ passphrase: String?, _ keyUsage: NSArray? = nil, _ keyAttributes: NSArray? = nil,
        _ body: (UnsafePointer<SecItemImportExportKeyParameters>) throws -> Result
    ) rethrows -> Result {
        let passphrase = passphrase.map { NSString(string: $0) }
        var parameters = SecItemImportExportKeyParameters(
            passphrase: passphrase.map { .passUnretained($0) }, keyUsage: keyUsage.map { .passUnretained($0) },
            keyAttributes: keyAttributes.map { .passUnretained($0) })
        return try withExtendedLifetime((passphrase, keyUsage, keyAttributes)) { try body(&parameters) }
    }

    @discardableResult
    private static func export(
        _ items: Any, _ format: SecExternalFormat, _ flags: SecItemImportExportFlags = [], _ passphrase: String? = nil
    ) throws -> Data {
        var data: CFData?
        let status = parameters(passphrase) { SecItemExport(items, format, flags, $0, &data) }
        guard status == errSecSuccess else { throw Home.Failure(status: status) }
        return try #require(data)
    }

    @discardableResult
    private static func read(
        _ data: Data, _ passphrase: String?, into keychain: SecKeychain? = nil, keyUsage: NSArray? = nil,
        keyAttributes: NSArray? = nil
    ) throws -> (format: SecExternalFormat, type: SecExternalItemType, items: [AnyObject]) {
        var (format, type) = (SecExternalFormat.formatUnknown, SecExternalItemType.itemTypeUnknown)
        var items: CFArray?
        let status = parameters(passphrase, keyUsage, keyAttributes) {
            SecItemImport(data, "file", &format, &type, [], $0, keychain, &items)
        }
        guard status == errSecSuccess else { throw Home.Failure(status: status) }
        return (format, type, try #require(items as? [AnyObject]))
    }

    private static func outcome(reading data: Data, _ passphrase: String, into keychain: SecKeychain? = nil) -> OSStatus
    {
        do {
            try read(data, passphrase, into: keychain)
            return errSecSuccess
        } catch {
            return (error as? Home.Failure)?.status ?? errSecInternal
        }
    }

    private static func defaultKeychain() -> SecKeychain? {
        var keychain: SecKeychain?
        _ = SecKeychainCopyDefault(&keychain)
        return keychain
    }

    /// The type of an object, and the hash of its key.
    private static func description(_ object: AnyObject) -> String {
        switch object {
        case let certificate as SecCertificate:
            "certificate \(SecCertificateCopyData(certificate).base64EncodedString())"
        case let key as SecKey: "key \(SecKeyCopyExternalRepresentation(key, nil)?.base64EncodedString() ?? "")"
        case let identity as SecIdentity:
            parts(of: identity).map { description($0) }.joined(separator: ", ")
        default: "\(object)"
        }
    }

    private static func parts(of identity: SecIdentity) -> [AnyObject] {
        var (certificate, key): (SecCertificate?, SecKey?)
        _ = SecIdentityCopyCertificate(identity, &certificate)
        _ = SecIdentityCopyPrivateKey(identity, &key)
        return [certificate as AnyObject?, key as AnyObject?].compactMap { $0 }
    }
}
