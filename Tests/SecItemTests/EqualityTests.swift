import Foundation
import SecItem
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit

/// CFEqual compares keys, identities and the like by their content, and not by the place where they were found.
@Suite struct EqualityTests {
    private static func key(_ type: String, keyClass: String, _ data: Data) throws -> SecKey {
        let attributes: [String: Any] = [kSecAttrKeyType: type, kSecAttrKeyClass: keyClass]
        return try #require(SecKeyCreateWithData(data as CFData, attributes as CFDictionary, nil))
    }

    @Test func keysAreEqualByWhatTheyAre() throws {
        let wanted: [String: Any] = [kSecAttrKeyType: kSecAttrKeyTypeEC]
        let (key, stranger) = (
            try #require(SecKeyCreateRandomKey(wanted as CFDictionary, nil)),
            try #require(SecKeyCreateRandomKey(wanted as CFDictionary, nil))
        )
        let data = try #require(SecKeyCopyExternalRepresentation(key, nil))
        let again = try Self.key(kSecAttrKeyTypeEC, keyClass: kSecAttrKeyClassPrivate, data as Data)
        let half = try #require(SecKeyCopyPublicKey(key))
        #expect(again == key && again.hashValue == key.hashValue)
        #expect(CFEqual(again, key))
        #expect(half == SecKeyCopyPublicKey(again))
        #expect(half != key && stranger != key)
        #expect(!CFEqual(stranger, key) && !CFEqual(key, NSNull()))
        #expect(Set([key, again, half, stranger]).count == 3)
    }

    @Test func symmetricKeysAreEqualByTheirTypeAndBytes() throws {
        let bytes = Data(repeating: 7, count: 32)
        func aes(_ data: Data) throws -> SecKey {
            try Self.key(kSecAttrKeyTypeAES, keyClass: kSecAttrKeyClassSymmetric, data)
        }
        let (first, second) = (try aes(bytes), try aes(bytes))
        #expect(first == second && first.hashValue == second.hashValue)
        #expect(try first != aes(Data(repeating: 8, count: 32)))
        #expect(try first != Self.key(kSecAttrKeyTypeHMAC, keyClass: kSecAttrKeyClassSymmetric, bytes))
    }

    @Test func accessControlsPoliciesAndKeychainsAreEqualByTheirContent() {
        func control(_ flags: SecAccessControlCreateFlags) -> SecAccessControl? {
            SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, flags, nil)
        }
        #expect(control(.userPresence) == control(.userPresence))
        #expect(control(.userPresence) != control(.devicePasscode))
        #expect(SecPolicyCreateSSL(true, nil) == SecPolicyCreateSSL(true, nil))
        #expect(SecPolicyCreateSSL(true, nil) != SecPolicyCreateSSL(false, nil))
        #expect(CFEqual("a" as NSString, "a" as NSString) && !CFEqual("a" as NSString, "b" as NSString))
        #expect(CFEqual(nil, nil) && !CFEqual(nil, NSNull()))
    }

    @Test func whatIsFoundTwiceIsTheSame() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let key = try PrivateKey.generate(.ecP256)
            let certificate = try CertificateBuilder(
                commonName: "Jo", publicKey: key.publicKey, notBefore: 1_600_000_000, notAfter: 4_000_000_000
            ).selfSigned(by: key)
            let secret = try key.externalRepresentation()
            let bytes = secret.bytes
            let given = try EqualityTests.key(
                kSecAttrKeyTypeEC, keyClass: kSecAttrKeyClassPrivate, Data(bytes.indices.map { bytes[$0] }))
            let parsed = try #require(SecCertificateCreateWithData(nil, Data(certificate.der) as CFData))
            let made = try #require(SecIdentityCreate(nil, parsed, given))
            #expect(add([kSecValueRef: made]) == errSecSuccess)
            #expect(add([kSecClass: kSecClassGenericPassword, kSecValueData: Data([1])]) == errSecSuccess)
            for itemClass in [kSecClassIdentity, kSecClassKey, kSecClassCertificate, kSecClassGenericPassword] {
                let query: [String: Any] = [kSecClass: itemClass, kSecReturnRef: true]
                let (first, second) = (try find(query), try find(query))
                #expect(first !== second)
                #expect(CFEqual(first, second), "\(itemClass)")
            }
            let identity = try find([kSecClass: kSecClassIdentity, kSecReturnRef: true]) as! SecIdentity
            #expect(identity == made && Set([identity, made]).count == 1)
            #expect(try find([kSecClass: kSecClassKey, kSecReturnRef: true]) as! SecKey == given)
            let (opened, other) = (try home.keychain("other"), try home.keychain("third"))
            var again: SecKeychain?
            #expect(SecKeychainOpen(home.path("other.keychain"), &again) == errSecSuccess)
            #expect(again == opened && opened != other)
        }
    }
}
