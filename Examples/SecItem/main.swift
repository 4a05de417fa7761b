// Passwords, keys, access control and identities with Apple's keychain API. The same source builds on Apple's platforms.
import Foundation

#if canImport(Security)
    import Security
#else
    import SecItem
#endif

/// Prints the result of a check. A failure ends the program.
func check(_ isRight: Bool, _ what: String) {
    print(isRight ? "ok   \(what)" : "FAIL \(what)")
    if !isRight { exit(1) }
}

// Passwords.
let store = PasswordStore(server: "www.example.com")
try store.delete()
try store.add(Credentials(username: "jo", password: "hunter2"))
check(try store.find().password == "hunter2", "a password that was added is found")
try store.update(Credentials(username: "jo", password: "correct horse"))
check(try store.find().password == "correct horse", "an updated password is found")
do {
    try store.add(Credentials(username: "jo", password: "again"))
    check(false, "a password cannot be added twice")
} catch KeychainError.unhandledError(let status) {
    let message = SecCopyErrorMessageString(status, nil) as String? ?? ""
    check(status == errSecDuplicateItem, "a password cannot be added twice: \(message)")
}
try store.delete()

// Keys.
let keys = KeyStore(tag: Data("com.example.keys.mykey".utf8))
_ = keys.delete()
let made = try keys.make()
let found = try keys.find()
let message = Data("I owe you nothing.".utf8)
check(try signAndVerify(message, with: found), "a stored key signs")
check(try encryptAndDecrypt(message, with: found) == message, "a stored key decrypts")
check(keys.delete() == errSecSuccess, "the key is deleted")
check(SecKeyCopyPublicKey(made) != nil, "a key's public half needs no password")

// A password that has to be asked for each time.
var error: Unmanaged<CFError>?
guard
    let access = SecAccessControlCreateWithFlags(
        nil, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, .userPresence, &error)
else { throw error!.takeRetainedValue() as Error }
let guarded: [String: Any] = [
    kSecClass as String: kSecClassGenericPassword,
    kSecAttrAccount as String: "jo",
    kSecAttrService as String: "diary",
    kSecAttrAccessControl as String: access,
    kSecValueData as String: Data("dear diary".utf8),
]
check(SecItemAdd(guarded as CFDictionary, nil) == errSecSuccess, "an item with access control is added")
var item: CFTypeRef?
let quiet: [String: Any] = [
    kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "diary",
    kSecUseAuthenticationUI as String: kSecUseAuthenticationUIFail, kSecReturnData as String: true,
]
check(
    SecItemCopyMatching(quiet as CFDictionary, &item) == errSecInteractionNotAllowed,
    "it is not read unless somebody can be asked")
check(
    SecItemDelete([kSecClass: kSecClassGenericPassword, kSecAttrService: "diary"] as CFDictionary) == errSecSuccess,
    "it is deleted")

// Identities: certificates with a private key, also on cards.
let identities: [String: Any] = [
    kSecClass as String: kSecClassIdentity, kSecMatchLimit as String: kSecMatchLimitAll, kSecReturnRef as String: true,
]
if SecItemCopyMatching(identities as CFDictionary, &item) == errSecSuccess, let list = item as? [SecIdentity] {
    for identity in list {
        var certificate: SecCertificate?
        SecIdentityCopyCertificate(identity, &certificate)
        print("identity \(certificate.flatMap { SecCertificateCopySubjectSummary($0) as String? } ?? "")")
    }
}
