import Foundation
import SecItem
import TestSupport
import Testing

/// AES and HMAC keys by the functions of SecKey, whose algorithms for them are not Apple's.
@Suite struct SecSymmetricKeyTests {
    private static let types = [kSecAttrKeyTypeAES, kSecAttrKeyTypeHMAC]
    private static var symmetric: [String: Any] {
        [kSecClass: kSecClassKey, kSecAttrKeyClass: kSecAttrKeyClassSymmetric]
    }

    private static func make(_ attributes: [String: Any]) throws -> SecKey {
        try #require(SecKeyCreateRandomKey(attributes as CFDictionary, nil))
    }

    /// The code with which a call fails; nil if it does not.
    private static func code(_ body: (UnsafeMutablePointer<Unmanaged<CFError>?>) -> Any?) -> OSStatus? {
        var error: Unmanaged<CFError>?
        guard body(&error) == nil else { return nil }
        return error.map { OSStatus(CFErrorGetCode($0.takeRetainedValue())) }
    }

    private static func checkWorks(_ key: SecKey, _ type: CFString) throws {
        let message = Data("message".utf8)
        if type == kSecAttrKeyTypeAES {
            let sealed = try #require(SecKeyCreateEncryptedData(key, .aesGCM, message as CFData, nil) as Data?)
            #expect(sealed.count == 12 + message.count + 16)
            #expect(SecKeyCreateDecryptedData(key, .aesGCM, sealed as CFData, nil) as Data? == message)
            var other = sealed
            other[13] ^= 1
            #expect(code { SecKeyCreateDecryptedData(key, .aesGCM, other as CFData, $0) } == errSecDecode)
            #expect(SecKeyGetBlockSize(key) == 16)
        } else {
            let algorithm = SecKeyAlgorithm.hmacSignatureMessageSHA384
            let signature = try #require(SecKeyCreateSignature(key, algorithm, message as CFData, nil))
            #expect(signature.count == 48)
            #expect(SecKeyVerifySignature(key, algorithm, message as CFData, signature, nil))
            let failure = code {
                SecKeyVerifySignature(key, algorithm, Data() as CFData, signature, $0) ? true : nil
            }
            #expect(failure == errSecVerifyFailed)
            #expect(SecKeyGetBlockSize(key) == 0)
        }
    }

    @Test(arguments: types) func aKeyInMemoryDoesWhatItsTypeDoes(type: CFString) throws {
        let key = try Self.make([kSecAttrKeyType: type])
        try Self.checkWorks(key, type)
        let told = try #require(SecKeyCopyAttributes(key))
        #expect(told[kSecAttrKeyClass] as? String == kSecAttrKeyClassSymmetric)
        #expect(told[kSecAttrKeyType] as? String == type)
        #expect(told[kSecAttrKeySizeInBits] as? Int == 256)
        let data = try #require(SecKeyCopyExternalRepresentation(key, nil))
        let attributes: [String: Any] = [
            kSecAttrKeyType: type, kSecAttrKeyClass: kSecAttrKeyClassSymmetric, kSecAttrKeySizeInBits: 256,
        ]
        let again = try #require(SecKeyCreateWithData(data, attributes as CFDictionary, nil))
        #expect(SecKeyCopyExternalRepresentation(again, nil) == data)
        #expect(SecKeyCopyPublicKey(key) == nil)
    }

    @Test func algorithmsAreOfTheKeysTypeAndAllowed() throws {
        let aes = try Self.make([kSecAttrKeyType: kSecAttrKeyTypeAES, kSecAttrCanWrap: false])
        #expect(SecKeyIsAlgorithmSupported(aes, .encrypt, .aesGCM))
        #expect(!SecKeyIsAlgorithmSupported(aes, .encrypt, .aesKeyWrap))
        #expect(SecKeyIsAlgorithmSupported(aes, .decrypt, .aesKeyWrap))
        for operation in [SecKeyOperationType.sign, .verify, .keyExchange] {
            #expect(!SecKeyIsAlgorithmSupported(aes, operation, .hmacSignatureMessageSHA256))
        }
        let pair = try Self.make([kSecAttrKeyType: kSecAttrKeyTypeEC])
        let publicKey = try #require(SecKeyCopyPublicKey(pair))
        let data = Data(repeating: 1, count: 64) as CFData
        for key in [pair, publicKey] {
            #expect(!SecKeyIsAlgorithmSupported(key, .encrypt, .aesGCM))
            #expect(Self.code { SecKeyCreateEncryptedData(key, .aesGCM, data, $0) } == errSecParam)
            #expect(Self.code { SecKeyCreateDecryptedData(key, .aesGCM, data, $0) } == errSecParam)
            #expect(Self.code { SecKeyCreateSignature(key, .hmacSignatureMessageSHA1, data, $0) } == errSecParam)
        }
        let (curve, exchange) = (
            SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256, SecKeyAlgorithm.ecdhKeyExchangeStandard
        )
        #expect(Self.code { SecKeyCreateSignature(aes, curve, data, $0) } == errSecParam)
        #expect(Self.code { SecKeyVerifySignature(aes, curve, data, data, $0) ? true : nil } == errSecParam)
        for (key, peer) in [(aes, publicKey), (pair, aes)] {
            #expect(Self.code { SecKeyCopyKeyExchangeResult(key, exchange, peer, [:], $0) } == errSecParam)
        }
    }

    @Test func whatAKeyIsToBeIsHonouredOrRefused() {
        let rows: [([String: Any], OSStatus)] = [
            ([kSecAttrKeySizeInBits: 64], errSecKeySizeNotAllowed),
            ([kSecAttrKeySizeInBits: -128], errSecKeySizeNotAllowed),
            ([kSecAttrKeyClass: kSecAttrKeyClassPrivate], errSecParam),
            ([kSecPrivateKeyAttrs: [kSecAttrIsPermanent: true]], errSecParam), ([kSecPublicKeyAttrs: [:]], errSecParam),
            (["unknown": 1], errSecParam), ([kSecAttrService: "s"], errSecNoSuchAttr),
        ]
        for type in Self.types {
            for (more, expected) in rows {
                let attributes = [kSecAttrKeyType: type as Any].merging(more) { $1 } as CFDictionary
                #expect(Self.code { SecKeyCreateRandomKey(attributes, $0) } == expected, "\(type): \(more)")
            }
            let given: [String: Any] = [kSecAttrKeyType: type, kSecAttrKeyClass: kSecAttrKeyClassSymmetric]
            let short = Data(repeating: 1, count: 13)
            #expect(Self.code { SecKeyCreateWithData(short, given as CFDictionary, $0) } == errSecKeySizeNotAllowed)
            let wrong = given.merging([kSecAttrKeySizeInBits: 128]) { $1 } as CFDictionary
            #expect(Self.code { SecKeyCreateWithData(Data(repeating: 1, count: 32), wrong, $0) } == errSecParam)
        }
    }

    @Test func aPermanentKeyIsFoundAndUsed() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            for type in Self.types {
                let tag = Data(type.utf8)
                let made = try Self.make([
                    kSecAttrKeyType: type, kSecAttrIsPermanent: true, kSecAttrApplicationTag: tag,
                    kSecAttrLabel: "mine",
                ])
                try Self.checkWorks(made, type)
                let query = Self.symmetric.merging([kSecAttrApplicationTag: tag, kSecReturnRef: true]) { $1 }
                let found = try find(query) as! SecKey
                try Self.checkWorks(found, type)
                #expect(SecKeyCopyAttributes(found)?[kSecAttrLabel] as? String == "mine")
                #expect(SecKeyCopyExternalRepresentation(found, nil)?.count == 32)
                #expect(
                    SecKeyCopyExternalRepresentation(found, nil) == SecKeyCopyExternalRepresentation(made, nil))
            }
            #expect(
                status(of: [kSecClass: kSecClassKey, kSecAttrKeyClass: kSecAttrKeyClassPrivate]) == errSecItemNotFound)
        }
    }

    @Test func bytesAndReferencesAreAdded() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let bytes = Data(1...32)
            for type in Self.types {
                let given = Self.symmetric.merging([kSecAttrKeyType: type]) { $1 }
                let tagged = { (tag: String) in given.merging([kSecAttrApplicationTag: Data(tag.utf8)]) { $1 } }
                #expect(add(tagged("data").merging([kSecValueData: bytes]) { $1 }) == errSecSuccess)
                let attributes = given.filter { $0.key != kSecClass } as CFDictionary
                let key = try #require(SecKeyCreateWithData(bytes, attributes, nil))
                #expect(add(tagged("reference").merging([kSecValueRef: key]) { $1 }) == errSecSuccess)
                #expect(add(tagged("reference").merging([kSecValueRef: key]) { $1 }) == errSecDuplicateItem)
                #expect(
                    add(tagged("short").merging([kSecValueData: Data(1...9)]) { $1 }) == errSecKeySizeNotAllowed)
                for tag in ["data", "reference"] {
                    let found = try find(tagged(tag).merging([kSecReturnRef: true]) { $1 }) as! SecKey
                    try Self.checkWorks(found, type)
                    #expect(try find(tagged(tag).merging([kSecReturnData: true]) { $1 }) as? Data == bytes)
                }
                #expect(try find([kSecValueRef: key, kSecReturnData: true]) as? Data == bytes)
            }
        }
    }

    @Test func aKeyThatIsNotExtractableIsUsedWhereItIs() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            for (type, isPermanent) in Self.types.flatMap({ [($0, true), ($0, false)] }) {
                let key = try Self.make([
                    kSecAttrKeyType: type, kSecAttrIsPermanent: isPermanent, kSecAttrIsExtractable: false,
                ])
                try Self.checkWorks(key, type)
                #expect(Self.code { SecKeyCopyExternalRepresentation(key, $0) } == errSecDataNotAvailable)
                let query: [String: Any] = Self.symmetric.merging([
                    kSecAttrKeyType: type, kSecReturnData: true,
                ]) { $1 }
                #expect(status(of: query) == errSecDataNotAvailable)
            }
        }
    }

    @Test func aGuardedKeyIsUsedWithItsContext() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let control = try #require(
                SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .userPresence, nil))
            for type in Self.types {
                _ = try Self.make([
                    kSecAttrKeyType: type, kSecAttrIsPermanent: true, kSecAttrAccessControl: control,
                ])
                let context = LAContext()
                context.interactionNotAllowed = true
                let key =
                    try find(
                        Self.symmetric.merging([
                            kSecAttrKeyType: type, kSecReturnRef: true, kSecUseAuthenticationContext: context,
                        ]) { $1 }) as! SecKey
                let data = Data(repeating: 1, count: 48) as CFData
                let refusal = errSecInteractionNotAllowed
                if type == kSecAttrKeyTypeAES {
                    #expect(Self.code { SecKeyCreateEncryptedData(key, .aesGCM, data, $0) } == refusal)
                    #expect(Self.code { SecKeyCreateDecryptedData(key, .aesGCM, data, $0) } == refusal)
                } else {
                    let algorithm = SecKeyAlgorithm.hmacSignatureMessageSHA1
                    #expect(Self.code { SecKeyCreateSignature(key, algorithm, data, $0) } == refusal)
                    #expect(Self.code { SecKeyVerifySignature(key, algorithm, data, data, $0) ? true : nil } == refusal)
                }
                context.setCredential(Data("open".utf8), type: .keychainPassword)
                try Self.checkWorks(key, type)
            }
        }
    }
}
