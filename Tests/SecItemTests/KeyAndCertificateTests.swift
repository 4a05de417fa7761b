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

    @Test func theOldNameOfRFC4754IsKeptAndTaken() throws {
        let old = SecKeyAlgorithm(rawValue: "algid:sign:ECDSA:RFC4754")
        #expect(old.rawValue == "algid:sign:ECDSA:RFC4754")
        let key = try #require(SecKeyCreateRandomKey([kSecAttrKeyType: kSecAttrKeyTypeEC] as CFDictionary, nil))
        let publicKey = try #require(SecKeyCopyPublicKey(key))
        let digest = Data(repeating: 1, count: 32) as CFData
        let signature = try #require(SecKeyCreateSignature(key, old, digest, nil))
        #expect(SecKeyVerifySignature(publicKey, .ecdsaSignatureRFC4754, digest, signature, nil))
    }

    @Test func aPrivateKeyDoesWhatItsPublicHalfDoes() throws {
        let key = try Self.rsaKey()
        let algorithm = SecKeyAlgorithm.rsaSignatureMessagePSSSHA256
        #expect(SecKeyIsAlgorithmSupported(key, .verify, algorithm))
        let signature = try #require(SecKeyCreateSignature(key, algorithm, Data([1]) as CFData, nil))
        #expect(SecKeyVerifySignature(key, algorithm, Data([1]) as CFData, signature, nil))
        #expect(SecKeyIsAlgorithmSupported(key, .encrypt, .rsaEncryptionOAEPSHA256))
        let sealed = try #require(SecKeyCreateEncryptedData(key, .rsaEncryptionOAEPSHA256, Data([2]) as CFData, nil))
        #expect(SecKeyCreateDecryptedData(key, .rsaEncryptionOAEPSHA256, sealed, nil) == Data([2]))
        #expect(!SecKeyIsAlgorithmSupported(key, .encrypt, algorithm))
    }

    private func failure(of parameters: [String: Any]) -> Int? {
        var error: Unmanaged<CFError>?
        guard SecKeyCreateRandomKey(parameters as CFDictionary, &error) == nil else { return nil }
        return error.map { CFErrorGetCode($0.takeRetainedValue()) }
    }

    @Test func nothingThatAKeyIsToBeIsIgnored() throws {
        let wanted: [String: Any] = [kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: 256]
        let refused: [([String: Any], OSStatus)] = [
            ([kSecAttrTokenID: kSecAttrTokenIDSecureEnclave], errSecReadOnly), (["unknown": 1], errSecParam),
            (["none": 1], errSecParam), ([kSecAttrService: "s"], errSecNoSuchAttr),
            ([kSecAttrLabel: 5], errSecParam), ([kSecAttrKeySizeInBits: 256.5], errSecParam),
            ([kSecAttrCanSign: "yes"], errSecParam), ([kSecMatchLimit: 1], errSecParam),
            ([kSecClass: kSecClassCertificate], errSecParam), ([kSecValueData: Data([1])], errSecParam),
        ]
        for (more, code) in refused {
            #expect(failure(of: wanted.merging(more) { $1 }) == Int(code), "\(more)")
            for part in [kSecPrivateKeyAttrs, kSecPublicKeyAttrs] where more[kSecAttrKeySizeInBits] == nil {
                #expect(failure(of: wanted.merging([part: more]) { $1 }) == Int(code), "\(part): \(more)")
            }
            var error: Unmanaged<CFError>?
            let attributes = wanted.merging([kSecAttrKeyClass: kSecAttrKeyClassPublic]) { $1 }.merging(more) { $1 }
            #expect(SecKeyCreateWithData(Data([4]) as CFData, attributes as CFDictionary, &error) == nil)
            #expect(CFErrorGetCode(try #require(error).takeRetainedValue()) == Int(code), "\(more)")
        }
        #expect(failure(of: wanted.merging([kSecPrivateKeyAttrs: "text"]) { $1 }) == Int(errSecParam))
        let told: [String: Any] = [
            kSecAttrLabel: "mine", kSecAttrCanSign: true, kSecAttrIsPermanent: false, kSecClass: kSecClassKey,
            kSecPrivateKeyAttrs: [kSecAttrApplicationTag: Data([1])] as [String: Any],
        ]
        #expect(failure(of: wanted.merging(told) { $1 }) == nil)
    }

    @Test func theClassOfAKeyIsGiven() throws {
        let key = try #require(SecKeyCopyExternalRepresentation(try Self.rsaKey(), nil))
        for keyClass in [nil, kSecAttrKeyClassSymmetric] {
            var attributes: [String: Any] = [kSecAttrKeyType: kSecAttrKeyTypeRSA]
            attributes[kSecAttrKeyClass] = keyClass
            var error: Unmanaged<CFError>?
            #expect(SecKeyCreateWithData(key, attributes as CFDictionary, &error) == nil)
            #expect(CFErrorGetCode(try #require(error).takeRetainedValue()) == Int(errSecParam))
        }
    }

    @Test func typeAndClassAreToldAsTheirConstants() throws {
        let key = try Self.rsaKey()
        for (half, keyClass) in [
            (key, kSecAttrKeyClassPrivate), (try #require(SecKeyCopyPublicKey(key)), kSecAttrKeyClassPublic),
        ] {
            let told = try #require(SecKeyCopyAttributes(half))
            #expect(told[kSecAttrKeyType] as? String == kSecAttrKeyTypeRSA)
            #expect(told[kSecAttrKeyClass] as? String == keyClass)
            #expect(told[kSecAttrKeySizeInBits] as? Int == 2048)
        }
    }

    @Test func aPairIsKeptWholeOrNotAtAll() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let kept: [String: Any] = [kSecAttrIsPermanent: true, kSecAttrApplicationTag: Data([1])]
            let wanted: [String: Any] = [kSecAttrKeyType: kSecAttrKeyTypeEC, kSecPublicKeyAttrs: kept]
            let illegal: [[String: Any]] = [
                kept.merging([kSecAttrTokenID: "piv:1"]) { $1 }, kept.merging(["none": 1]) { $1 },
                // Only the keychain can refuse this one: no person is asked for the item's application password.
                kept.merging([
                    kSecAttrAccessControl: try #require(
                        SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .applicationPassword, nil))
                ]) { $1 },
            ]
            let keys: [String: Any] = [kSecClass: kSecClassKey]
            for own in illegal {
                let pair = wanted.merging([kSecPrivateKeyAttrs: own]) { $1 }
                #expect(SecKeyCreateRandomKey(pair as CFDictionary, nil) == nil)
                #expect(status(of: keys) == errSecItemNotFound)
                let turned: [String: Any] = [
                    kSecAttrKeyType: kSecAttrKeyTypeEC, kSecPrivateKeyAttrs: kept,
                    kSecPublicKeyAttrs: own.filter { $0.key != kSecAttrAccessControl }.merging([
                        kSecAttrAccessGroup: kSecAttrAccessGroupToken
                    ]) { $1 },
                ]
                #expect(SecKeyCreateRandomKey(turned as CFDictionary, nil) == nil)
                #expect(status(of: keys) == errSecItemNotFound)
            }
            #expect(
                SecKeyCreateRandomKey(wanted.merging([kSecPrivateKeyAttrs: kept]) { $1 } as CFDictionary, nil) != nil)
            let all: [String: Any] = keys.merging([kSecMatchLimit: kSecMatchLimitAll, kSecReturnRef: true]) { $1 }
            #expect((try find(all) as? [SecKey])?.count == 2)
        }
    }

    @Test func aPairIsMadeAndBothHalvesGiven() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let kept: [String: Any] = [kSecAttrIsPermanent: true]
            let wanted: [String: Any] = [kSecAttrKeyType: kSecAttrKeyTypeEC, kSecPrivateKeyAttrs: kept]
            var halves: (SecKey?, SecKey?)
            #expect(SecKeyGeneratePair(wanted as CFDictionary, &halves.0, &halves.1) == errSecSuccess)
            #expect(SecKeyCopyPublicKey(try #require(halves.1)) == halves.0)
            #expect(try find([kSecClass: kSecClassKey, kSecReturnRef: true]) as! SecKey? == halves.1)
            let symmetric: [String: Any] = [kSecAttrKeyType: kSecAttrKeyTypeAES]
            #expect(SecKeyGeneratePair(symmetric as CFDictionary, nil, nil) == errSecParam)
            #expect(SecKeyGeneratePair([:], nil, nil) == errSecParam)
        }
    }

    @Test func aGuardedKeyLeavesWithItsContext() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let control = try #require(
                SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .userPresence, nil))
            let wanted: [String: Any] = [
                kSecAttrKeyType: kSecAttrKeyTypeEC,
                kSecPrivateKeyAttrs: [kSecAttrIsPermanent: true, kSecAttrAccessControl: control] as [String: Any],
            ]
            #expect(SecKeyCreateRandomKey(wanted as CFDictionary, nil) != nil)
            let context = LAContext()
            context.interactionNotAllowed = true
            let query: [String: Any] = [
                kSecClass: kSecClassKey, kSecReturnRef: true, kSecUseAuthenticationContext: context,
            ]
            let key = try find(query) as! SecKey
            var error: Unmanaged<CFError>?
            #expect(SecKeyCopyExternalRepresentation(key, &error) == nil)
            let failure = try #require(error).takeRetainedValue()
            #expect(CFErrorGetCode(failure) == Int(errSecInteractionNotAllowed))
            #expect(failure.localizedDescription.contains("LAContext"))
            context.setCredential(Data("open".utf8), type: .keychainPassword)
            #expect(SecKeyCopyExternalRepresentation(key, nil)?.count == 97)
        }
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

    /// The code and the text with which a key exchange fails; nil if it does not.
    private static func refusal(
        _ key: SecKey, _ peer: SecKey, _ parameters: CFDictionary
    ) throws -> (code: Int, text: String)? {
        var error: Unmanaged<CFError>?
        let secret = SecKeyCopyKeyExchangeResult(
            key, .ecdhKeyExchangeStandardX963SHA256, try #require(SecKeyCopyPublicKey(peer)), parameters, &error)
        guard secret == nil else { return nil }
        let failure = try #require(error).takeRetainedValue()
        return (CFErrorGetCode(failure), CFErrorCopyDescription(failure) as String)
    }

    private static func key(_ type: CFString, bits: Int) throws -> SecKey {
        let wanted: [String: Any] = [kSecAttrKeyType: type, kSecAttrKeySizeInBits: bits]
        return try #require(SecKeyCreateRandomKey(wanted as CFDictionary, nil))
    }

    @Test func noParameterOfAKeyExchangeIsIgnored() throws {
        let key = try Self.key(kSecAttrKeyTypeEC, bits: 256)
        let refused: [(String, Any)] = [
            ("sharedInfo", "text"), ("sharedInfo", 5), ("requestedSize", "32"), ("requestedSize", 32.5),
            ("requestedSize", -1), ("sharedinfo", Data()),
        ]
        for (name, value) in refused {
            let parameters = ["requestedSize": 32].merging([name: value]) { $1 }
            let refusal = try #require(try Self.refusal(key, key, parameters as CFDictionary), "\(name): \(value)")
            #expect(refusal.code == Int(errSecParam))
            if value as? Int != -1 { #expect(refusal.text.contains(name)) }
        }
        let taken: [Any] = [Data([1]), NSData(data: Data([1])), [UInt8](arrayLiteral: 1)]
        for info in taken {
            let parameters: [SecKeyKeyExchangeParameter: Any] = [
                .requestedSize: NSNumber(value: 32), .sharedInfo: info,
            ]
            #expect(try Self.refusal(key, key, parameters as CFDictionary) == nil, "\(info)")
        }
    }

    @Test func keysOnDifferentCurvesAgreeOnNothingAndAreToldSo() throws {
        let key = try Self.key(kSecAttrKeyTypeEC, bits: 256)
        let parameters: CFDictionary = ["requestedSize": 32]
        for (peer, name) in [
            (try Self.key(kSecAttrKeyTypeEC, bits: 384), "P-384"),
            (try Self.key(kSecAttrKeyTypeRSA, bits: 2048), "RSA"),
        ] {
            let refusal = try #require(try Self.refusal(key, peer, parameters))
            #expect(refusal.code == Int(errSecParam))
            #expect(refusal.text.contains("P-256") && refusal.text.contains(name))
        }
    }

    @Test func anRSAKeyWithoutASizeIsToldThatItIsMissing() throws {
        var error: Unmanaged<CFError>?
        #expect(SecKeyCreateRandomKey([kSecAttrKeyType: kSecAttrKeyTypeRSA] as CFDictionary, &error) == nil)
        let failure = try #require(error).takeRetainedValue()
        #expect(CFErrorGetCode(failure) == Int(errSecParam))
        #expect(failure.localizedDescription.contains("kSecAttrKeySizeInBits"))
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
