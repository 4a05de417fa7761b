import Foundation
import SecItem
import TestSupport
import Testing

@Suite struct SecKeyTests {
    private static func rsaKey() throws -> SecKey {
        var error: Unmanaged<CFError>?
        let attributes: [String: Any] = [kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrKeySizeInBits: 2048]
        return try #require(SecKeyCreateRandomKey(attributes as CFDictionary, &error))
    }

    @Test(arguments: [
        SecKeyAlgorithm.rsaSignatureMessagePKCS1v15SHA256, .rsaSignatureMessagePSSSHA384,
        .rsaSignatureMessagePKCS1v15SHA1,
    ])
    func aSignatureVerifiesWithThePublicHalfAlone(_ algorithm: SecKeyAlgorithm) throws {
        let key = try Self.rsaKey()
        let message = Data("message".utf8)
        let signature = try #require(SecKeyCreateSignature(key, algorithm, message as CFData, nil) as Data?)
        let publicKey = try #require(SecKeyCopyPublicKey(key))
        var error: Unmanaged<CFError>?
        #expect(SecKeyVerifySignature(publicKey, algorithm, message as CFData, signature as CFData, &error))
        #expect(!SecKeyVerifySignature(publicKey, algorithm, Data("other".utf8) as CFData, signature as CFData, &error))
        #expect(CFErrorGetCode(try #require(error).takeRetainedValue()) == Int(errSecVerifyFailed))
        #expect(SecKeyGetBlockSize(key) == 256)
    }

    @Test func externalRepresentationsComeBack() throws {
        for (type, bits) in [(kSecAttrKeyTypeRSA, 2048), (kSecAttrKeyTypeECSECPrimeRandom, 384)] {
            let wanted: [String: Any] = [kSecAttrKeyType: type, kSecAttrKeySizeInBits: bits]
            let key = try #require(SecKeyCreateRandomKey(wanted as CFDictionary, nil))
            for (half, keyClass) in [
                (key, kSecAttrKeyClassPrivate), (try #require(SecKeyCopyPublicKey(key)), kSecAttrKeyClassPublic),
            ] {
                let data = try #require(SecKeyCopyExternalRepresentation(half, nil) as Data?)
                let attributes: [String: Any] = wanted.merging([kSecAttrKeyClass: keyClass]) { $1 }
                let read = try #require(SecKeyCreateWithData(data as CFData, attributes as CFDictionary, nil))
                #expect(SecKeyCopyExternalRepresentation(read, nil) as Data? == data)
                let told = try #require(SecKeyCopyAttributes(read))
                #expect(told[kSecAttrKeySizeInBits] as? Int == bits)
            }
        }
    }

    @Test func whatIsNoKeyIsRefusedWithAnError() throws {
        let refused: [[String: Any]] = [
            [kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrKeyClass: kSecAttrKeyClassPrivate],
            [kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeyClass: kSecAttrKeyClassPublic],
            [kSecAttrKeyType: "4711", kSecAttrKeyClass: kSecAttrKeyClassPublic], [:],
        ]
        for attributes in refused {
            for data in [Data(), Data([4]), Data(repeating: 0x30, count: 300)] {
                var error: Unmanaged<CFError>?
                #expect(SecKeyCreateWithData(data as CFData, attributes as CFDictionary, &error) == nil)
                let failure = try #require(error).takeRetainedValue()
                #expect(CFErrorGetCode(failure) != 0)
                #expect(!(failure as any Error).localizedDescription.isEmpty)
            }
        }
        var error: Unmanaged<CFError>?
        let short: [String: Any] = [kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrKeySizeInBits: 512]
        #expect(SecKeyCreateRandomKey(short as CFDictionary, &error) == nil)
        #expect(CFErrorGetCode(try #require(error).takeRetainedValue()) == Int(errSecKeySizeNotAllowed))
    }

    @Test func halvesDoWhatIsTheirs() throws {
        let key = try Self.rsaKey()
        let publicKey = try #require(SecKeyCopyPublicKey(key))
        #expect(SecKeyIsAlgorithmSupported(key, .sign, .rsaSignatureMessagePSSSHA256))
        #expect(!SecKeyIsAlgorithmSupported(publicKey, .sign, .rsaSignatureMessagePSSSHA256))
        #expect(SecKeyIsAlgorithmSupported(publicKey, .encrypt, .rsaEncryptionOAEPSHA256AESGCM))
        #expect(!SecKeyIsAlgorithmSupported(key, .sign, .ecdsaSignatureMessageX962SHA256))
        #expect(!SecKeyIsAlgorithmSupported(key, .sign, SecKeyAlgorithm(rawValue: "none")))
        #expect(SecKeyCreateSignature(publicKey, .rsaSignatureMessagePSSSHA256, Data() as CFData, nil) == nil)
    }

    @Test func bothSidesAgreeOnASecret() throws {
        let wanted: [String: Any] = [kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256]
        let ours = try #require(SecKeyCreateRandomKey(wanted as CFDictionary, nil))
        let theirs = try #require(SecKeyCreateRandomKey(wanted as CFDictionary, nil))
        let parameters: [String: Any] = [
            SecKeyKeyExchangeParameter.requestedSize.rawValue: 24,
            SecKeyKeyExchangeParameter.sharedInfo.rawValue: Data("info".utf8),
        ]
        func agree(_ key: SecKey, _ peer: SecKey) throws -> Data? {
            SecKeyCopyKeyExchangeResult(
                key, .ecdhKeyExchangeStandardX963SHA256, try #require(SecKeyCopyPublicKey(peer)),
                parameters as CFDictionary, nil)
        }
        let secret = try agree(ours, theirs)
        #expect(secret?.count == 24)
        #expect(try secret == agree(theirs, ours))
    }

    @Test func aKeyThatIsKeptIsFoundByItsTagAndSigns() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let tag = Data("com.example.key".utf8)
            let wanted: [String: Any] = [
                kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
                kSecPrivateKeyAttrs: [kSecAttrIsPermanent: true, kSecAttrApplicationTag: tag] as [String: Any],
            ]
            let made = try #require(SecKeyCreateRandomKey(wanted as CFDictionary, nil))
            let query: [String: Any] = [kSecClass: kSecClassKey, kSecAttrApplicationTag: tag, kSecReturnRef: true]
            let found = try find(query) as! SecKey
            let algorithm = SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256
            let signature = try #require(SecKeyCreateSignature(found, algorithm, Data([1]) as CFData, nil) as Data?)
            let publicKey = try #require(SecKeyCopyPublicKey(made))
            #expect(SecKeyVerifySignature(publicKey, algorithm, Data([1]) as CFData, signature as CFData, nil))
            #expect(SecKeyCopyExternalRepresentation(found, nil)?.count == 97)
        }
    }
}

@Suite struct SecCertificateTests {
    @Test func itIsAddedFoundAndTellsOfItself() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let made = try Program.run([
                "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=Jo Doe", "-days", "30",
                "-outform", "DER", "-addext", "subjectAltName=email:jo@example.com", "-keyout", home.path("key.pem"),
                "-out", home.path("cert.der"),
            ])
            #expect(made.status == 0)
            let der = try Data(contentsOf: URL(fileURLWithPath: home.path("cert.der")))
            let certificate = try #require(SecCertificateCreateWithData(nil, der as CFData))
            #expect(SecCertificateCopySubjectSummary(certificate) as String? == "Jo Doe")
            #expect(SecCertificateCopyData(certificate) as Data == der)
            var addresses: CFArray?
            #expect(SecCertificateCopyEmailAddresses(certificate, &addresses) == errSecSuccess)
            #expect(addresses as? [String] == ["jo@example.com"])

            // Case 1 and 3: without a return key there is no result; with one, the bare value.
            var result: CFTypeRef?
            #expect(SecItemAdd([kSecValueRef: certificate] as CFDictionary, &result) == errSecSuccess)
            #expect(result == nil)
            #expect(add([kSecValueRef: certificate]) == errSecDuplicateItem)
            let query: [String: Any] = [
                kSecClass: kSecClassCertificate, kSecMatchEmailAddressIfPresent: "JO@example.com",
            ]
            let found = try find(query.merging([kSecReturnRef: true]) { $1 }) as! SecCertificate
            #expect(found == certificate)
            #expect(try find(query.merging([kSecReturnData: true]) { $1 }) as? Data == der)
            #expect(SecItemDelete([kSecClass: kSecClassCertificate] as CFDictionary) == errSecSuccess)
        }
    }

    @Test func whatIsNoneIsNil() {
        for data in [Data(), Data([0x30]), Data(repeating: 0x30, count: 1000)] {
            #expect(SecCertificateCreateWithData(nil, data as CFData) == nil)
        }
    }
}
