import Foundation
import SecItem
import SecureBytes
import SystemCrypto
import TestSupport
import Testing

/// Identities, of keychains and of files.
@Suite struct SecIdentityTests {
    /// A key with its certificate and the issuer's.
    private struct Pair {
        let key: PrivateKey
        let certificate: Certificate
        let issuer: Certificate

        init() throws {
            let authority = try PrivateKey.generate(.ecP256)
            key = try PrivateKey.generate(.ecP256)
            let dates: (Int64, Int64) = (1_600_000_000, 4_000_000_000)
            let root = try CertificateBuilder(
                commonName: "Root", publicKey: authority.publicKey, notBefore: dates.0, notAfter: dates.1)
            issuer = try root.selfSigned(by: authority)
            let builder = try CertificateBuilder(
                commonName: "Jo", publicKey: key.publicKey, notBefore: dates.0, notAfter: dates.1)
            certificate = try builder.issued(by: issuer, key: authority)
        }

        /// The key as a keychain has it.
        func storedKey() throws -> SecKey {
            let secret = try key.externalRepresentation()
            let bytes = secret.bytes
            let item: [String: Any] = [
                kSecClass: kSecClassKey, kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeyClass: kSecAttrKeyClassPrivate,
                kSecValueData: Data(bytes.indices.map { bytes[$0] }),
            ]
            #expect(add(item) == errSecSuccess)
            return try find([kSecClass: kSecClassKey, kSecReturnRef: true]) as! SecKey
        }
    }

    @Test func aCertificateOfDataAndAStoredKeyAreOne() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let (pair, stranger) = (try Pair(), try Pair())
            let key = try pair.storedKey()
            let certificate = try #require(SecCertificateCreateWithData(nil, Data(pair.certificate.der)))
            let identity = try #require(SecIdentityCreate(nil, certificate, key))
            var found: SecCertificate?
            #expect(SecIdentityCopyCertificate(identity, &found) == errSecSuccess)
            #expect(found == certificate)
            let dates = (
                SecCertificateCopyNotValidBeforeDate(certificate), SecCertificateCopyNotValidAfterDate(certificate)
            )
            #expect(dates.0 == Date(timeIntervalSince1970: 1_600_000_000))
            #expect(dates.1 == Date(timeIntervalSince1970: 4_000_000_000))
            var half: SecKey?
            #expect(SecIdentityCopyPrivateKey(identity, &half) == errSecSuccess)
            let algorithm = SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256
            #expect(SecKeyCreateSignature(try #require(half), algorithm, Data([1]), nil) != nil)
            let other = try #require(SecCertificateCreateWithData(nil, Data(stranger.certificate.der)))
            #expect(SecIdentityCreate(nil, other, key) == nil)
            // The identity's certificate is added beside the key that is there.
            #expect(status(of: [kSecValueRef: identity]) == errSecItemNotFound)
            #expect(add([kSecValueRef: identity]) == errSecSuccess)
            #expect(add([kSecValueRef: identity]) == errSecDuplicateItem)
            #expect(status(of: [kSecValueRef: identity]) == errSecSuccess)
            let keys = try find([kSecClass: kSecClassKey, kSecMatchLimit: kSecMatchLimitAll, kSecReturnRef: true])
            #expect((keys as? [SecKey])?.count == 1)
        }
    }

    @Test func aCertificateFindsItsKey() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let other = try home.keychain("other")
            let pair = try Pair()
            let certificate = try #require(SecCertificateCreateWithData(nil, Data(pair.certificate.der)))
            var identity: SecIdentity?
            #expect(SecIdentityCreateWithCertificate(nil, certificate, &identity) == errSecItemNotFound)
            #expect(identity == nil)
            _ = try pair.storedKey()
            #expect(SecIdentityCreateWithCertificate(other, certificate, &identity) == errSecItemNotFound)
            #expect(SecIdentityCreateWithCertificate([other] as NSArray, certificate, &identity) == errSecItemNotFound)
            #expect(SecIdentityCreateWithCertificate(nil, certificate, &identity) == errSecSuccess)
            var key: SecKey?
            #expect(SecIdentityCopyPrivateKey(try #require(identity), &key) == errSecSuccess)
            #expect(SecKeyCopyExternalRepresentation(try #require(key), nil)?.count == 97)
        }
    }

    @Test func aFileOfIdentitiesIsReadAndAdded() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let pair = try Pair()
            var bytes = Array("secret".utf8)
            let file = Data(
                try PKCS12.create(
                    [PKCS12.Identity(pair.key, pair.certificate, friendlyName: "mine")],
                    chain: [pair.issuer], password: Secret(consuming: &bytes)))
            var items: CFArray?
            let refused: [([String: Any], OSStatus)] = [
                ([kSecImportExportPassphrase: "wrong"], errSecAuthFailed), ([:], errSecPassphraseRequired),
                ([kSecImportExportPassphrase: 5], errSecParam), ([kSecImportExportKeychain: "x"], errSecParam),
                ([kSecImportExportPassphrase: "secret", kSecImportToMemoryOnly: false], errSecParam),
            ]
            for (options, code) in refused {
                #expect(SecPKCS12Import(file, options as CFDictionary, &items) == code, "\(options)")
            }
            let options: [String: Any] = [kSecImportExportPassphrase: "secret"]
            #expect(SecPKCS12Import(Data([1, 2, 3]), options as CFDictionary, &items) == errSecDecode)
            #expect(items == nil)
            // The options of swift-security on macOS.
            let asked: [String: Any] = [kSecUseDataProtectionKeychain: true, kSecImportToMemoryOnly: true]
            #expect(SecPKCS12Import(file, options.merging(asked) { $1 } as CFDictionary, &items) == errSecSuccess)
            #expect(SecPKCS12Import(file, options as CFDictionary, &items) == errSecSuccess)
            let item = try #require(items?.first as? [String: Any])
            #expect(items?.count == 1)
            #expect(item[kSecImportItemLabel] as? String == "mine")
            #expect(item[kSecImportItemKeyID] as? Data == Data(pair.key.publicKey.keyHash))
            let chain = try #require(item[kSecImportItemCertChain] as? [SecCertificate])
            #expect(chain.map { SecCertificateCopyData($0) } == [pair.certificate, pair.issuer].map { Data($0.der) })
            #expect(status(of: [kSecClass: kSecClassIdentity]) == errSecItemNotFound)
            let identity = item[kSecImportItemIdentity] as! SecIdentity
            #expect(add([kSecValueRef: identity]) == errSecSuccess)
            #expect(status(of: [kSecClass: kSecClassIdentity]) == errSecSuccess)
        }
    }

    /// OpenSSL accepts such a key, and makes up for the wrong number by the others.
    @Test func aFileWhoseKeyHasANumberOfAnotherIsRefused() throws {
        let key = try PrivateKey.generate(.rsa(bits: 2048))
        let encoded = try key.externalRepresentation()
        let bytes = encoded.bytes
        var outer = TLVReader(bytes.indices.map { bytes[$0] })
        var fields = TLVReader(try #require(outer.all().first).value)
        var numbers = try fields.all().map { Array($0.value) }
        // d mod (p − 1), behind the version, n, e, d, p and q.
        numbers[6][numbers[6].count - 1] ^= 2
        var mixed = TLV(0x30, numbers.flatMap { TLV(0x02, $0).encoded() }).encoded()
        let certificate = try CertificateBuilder(
            commonName: "Jo", publicKey: key.publicKey, notBefore: 1_600_000_000, notAfter: 4_000_000_000
        ).selfSigned(by: key)
        var password = Array("secret".utf8)
        let file = try PKCS12.create(
            [PKCS12.Identity(PrivateKey(encoded: Secret(consuming: &mixed)), certificate)],
            password: Secret(consuming: &password), iterations: 1000)
        var items: CFArray?
        #expect(SecPKCS12Import(Data(file), [kSecImportExportPassphrase: "secret"], &items) == errSecDecode)
        #expect(items == nil)
    }
}
