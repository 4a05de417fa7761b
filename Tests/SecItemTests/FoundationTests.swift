import Foundation
import SecItem
import TestSupport
import Testing

/// Errors, dictionaries and types of objects, which code for Apple's platforms uses as Foundation's.
@Suite struct FoundationTests {
    /// The pattern catches every error, so that the function need not throw.
    private func caught() -> NSError {
        do {
            var error: Unmanaged<CFError>?
            _ = SecKeyCreateRandomKey([:] as CFDictionary, &error)
            throw error!.takeRetainedValue() as any Error
        } catch let error as NSError {
            return error
        }
    }

    @Test func anErrorThatIsThrownIsCaughtAsFoundations() {
        let error = caught()
        #expect(error.code == Int(errSecParam))
        #expect(error.domain == NSOSStatusErrorDomain)
        #expect(error.localizedDescription.contains("the type of the key is missing"))
        #expect((error as any Error).localizedDescription == error.localizedDescription)
    }

    @Test func anErrorTellsItsCodeItsDomainAndWhy() {
        let error: CFError = caught()
        #expect(CFErrorGetCode(error) == Int(errSecParam))
        #expect(CFErrorGetDomain(error) == kCFErrorDomainOSStatus)
        #expect(CFErrorCopyDescription(error) as String == error.localizedDescription)
    }

    @Test func aStatusMakesAnErrorOfFoundationsDomain() {
        let error = NSError(domain: NSOSStatusErrorDomain, code: Int(errSecItemNotFound))
        #expect(CFErrorGetDomain(error) == "NSOSStatusErrorDomain")
    }

    @Test func dictionariesOfFoundationAreTakenAsSwifts() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let item = NSMutableDictionary()
            item[kSecClass] = kSecClassGenericPassword
            item.setObject(NSString(string: "mail"), forKey: NSString(string: kSecAttrService))
            item[kSecValueData] = NSData(data: Data("hunter2".utf8))
            #expect(SecItemAdd(item, nil) == errSecSuccess)
            let query: NSDictionary = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: "mail", kSecReturnData: kCFBooleanTrue as Any,
            ]
            var result: CFTypeRef?
            #expect(SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess)
            #expect(result as? Data == Data("hunter2".utf8))
            let plain: [AnyHashable: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrService: "mail"]
            #expect(SecItemUpdate(plain as CFDictionary, [kSecAttrComment: "new"] as NSDictionary) == errSecSuccess)
            #expect(SecItemDelete(plain as CFDictionary) == errSecSuccess)
            #expect(SecItemCopyMatching(query, nil) == errSecParam)
            #expect(SecItemDelete([5: "no text"] as CFDictionary) == errSecParam)
        }
    }

    @Test func dataOfFoundationIsTakenAsSwifts() throws {
        let wanted: NSDictionary = [kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: NSNumber(value: 256)]
        let key = try #require(SecKeyCreateRandomKey(wanted, nil))
        let message = NSData(data: Data("message".utf8))
        let algorithm = SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256
        let signature = try #require(SecKeyCreateSignature(key, algorithm, message as CFData, nil))
        #expect(SecKeyVerifySignature(key, algorithm, message as CFData, signature as NSData as CFData, nil))
        #expect(SecKeyVerifySignature(key, algorithm, message, signature as NSData, nil))
        #expect(SecKeyCreateSignature(key, algorithm, message, nil) != nil)
        let encryption = SecKeyAlgorithm.eciesEncryptionStandardX963SHA256AESGCM
        let publicKey = try #require(SecKeyCopyPublicKey(key))
        let sealed = try #require(SecKeyCreateEncryptedData(publicKey, encryption, message, nil))
        #expect(SecKeyCreateDecryptedData(key, encryption, sealed as NSData, nil) == message as Data)
        let data = try #require(SecKeyCopyExternalRepresentation(key, nil)) as NSData
        let attributes = wanted.mutableCopy() as? NSMutableDictionary
        attributes?[kSecAttrKeyClass] = kSecAttrKeyClassPrivate
        #expect(SecKeyCreateWithData(data, try #require(attributes), nil) == key)
        var items: CFArray?
        #expect(SecCertificateCreateWithData(nil, data) == nil)
        #expect(SecPKCS12Import(data, [:], &items) == errSecDecode)
        let told = try #require(SecKeyCopyAttributes(key) as? [String: Any])
        #expect(told[kSecAttrKeySizeInBits as String] as? Int == 256)
    }

    @Test func anObjectHasTheTypeOfItsKind() throws {
        let wanted: [String: Any] = [kSecAttrKeyType: kSecAttrKeyTypeECDSA]
        let key: CFTypeRef = try #require(SecKeyCreateRandomKey(wanted as CFDictionary, nil))
        let control: CFTypeRef = try #require(
            SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, [], nil))
        let objects: [(CFTypeRef, CFTypeID)] = [
            (key, SecKeyGetTypeID()), (control, SecAccessControlGetTypeID()),
            (SecPolicyCreateBasicX509(), SecPolicyGetTypeID()), ("text" as NSString, CFStringGetTypeID()),
            (Data() as NSData, CFDataGetTypeID()), (NSNumber(value: 1), CFNumberGetTypeID()),
            (kCFBooleanTrue, CFBooleanGetTypeID()), ([1] as NSArray, CFArrayGetTypeID()),
            ([:] as NSDictionary, CFDictionaryGetTypeID()), (NSDate(), CFDateGetTypeID()),
            (NSNull(), CFNullGetTypeID()), (caught(), CFErrorGetTypeID()),
        ]
        for (object, type) in objects { #expect(CFGetTypeID(object) == type, "\(object)") }
        let types =
            objects.map(\.1) + [
                SecCertificateGetTypeID(), SecIdentityGetTypeID(), SecKeychainGetTypeID(), SecKeychainItemGetTypeID(),
                CFGetTypeID(NSObject()),
            ]
        #expect(Set(types).count == types.count)
        #expect(CFGetTypeID(nil) == 0)
        #expect(noErr == errSecSuccess)
    }
}
