import Foundation
import Security
import TestSupport
import Testing

/// The functions of SecKeychain.h and SecKeychainItem.h, as Swift programs for macOS call them.
@Suite struct SecKeychainNameTests {
    private static func add(_ service: String, _ password: String, to keychain: SecKeychain? = nil) -> OSStatus {
        SecKeychainAddGenericPassword(
            keychain, UInt32(service.utf8.count), service, 2, "jo", UInt32(password.utf8.count), password, nil)
    }

    private static func find(
        _ service: String, in keychain: SecKeychain? = nil
    ) -> (status: OSStatus, password: String?, item: SecKeychainItem?) {
        var (length, data, item): (UInt32, UnsafeMutableRawPointer?, SecKeychainItem?) = (0, nil, nil)
        let status = SecKeychainFindGenericPassword(
            keychain, UInt32(service.utf8.count), service, 2, "jo", &length, &data, &item)
        defer { SecKeychainItemFreeContent(nil, data) }
        let password = data.map {
            String(decoding: UnsafeRawBufferPointer(start: $0, count: Int(length)), as: UTF8.self)
        }
        return (status, password, item)
    }

    @Test func aPasswordIsAddedFoundChangedAndDeleted() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            #expect(Self.add("mail", "hunter2") == errSecSuccess)
            #expect(Self.add("mail", "again") == errSecDuplicateItem)
            let found = Self.find("mail")
            #expect(found.password == "hunter2")
            let item = try #require(found.item)
            var comment = Array("seen".utf8)
            try comment.withUnsafeMutableBytes { bytes in
                var attribute = SecKeychainAttribute(
                    tag: SecItemAttr.commentItemAttr.rawValue, length: 4, data: bytes.baseAddress)
                try withUnsafeMutablePointer(to: &attribute) { attribute in
                    var list = SecKeychainAttributeList(count: 1, attr: attribute)
                    try #require(SecKeychainItemModifyContent(item, &list, 3, "new") == errSecSuccess)
                }
            }
            #expect(Self.find("mail").password == "new")
            var tags = [SecItemAttr.accountItemAttr.rawValue, SecItemAttr.commentItemAttr.rawValue]
            var list: UnsafeMutablePointer<SecKeychainAttributeList>?
            var itemClass = SecItemClass.internetPasswordItemClass
            tags.withUnsafeMutableBufferPointer { tags in
                var info = SecKeychainAttributeInfo(count: 2, tag: tags.baseAddress)
                #expect(
                    SecKeychainItemCopyAttributesAndData(item, &info, &itemClass, &list, nil, nil) == errSecSuccess)
            }
            let values = try #require(list).pointee
            let texts = (0..<2).map { index in
                String(
                    decoding: UnsafeRawBufferPointer(
                        start: values.attr?[index].data, count: Int(values.attr?[index].length ?? 0)),
                    as: UTF8.self)
            }
            #expect(texts == ["jo", "seen"])
            #expect(itemClass == .genericPasswordItemClass)
            SecKeychainItemFreeAttributesAndData(list, nil)
            #expect(SecKeychainItemDelete(item) == errSecSuccess)
            #expect(SecKeychainItemDelete(item) == errSecInvalidItemRef)
            #expect(Self.find("mail").status == errSecItemNotFound)
        }
    }

    @Test func aServersPasswordHasItsProtocolAndPort() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            func call(_ port: UInt16, _ scheme: SecProtocolType) -> OSStatus {
                SecKeychainFindInternetPassword(
                    nil, 11, "example.org", 0, nil, 2, "jo", 0, nil, port, scheme, .any, nil, nil, nil)
            }
            #expect(
                SecKeychainAddInternetPassword(
                    nil, 11, "example.org", 0, nil, 2, "jo", 0, nil, 443, .HTTPS, .default, 1, "x", nil)
                    == errSecSuccess)
            #expect(call(443, .HTTPS) == errSecSuccess)
            #expect(call(0, .any) == errSecSuccess)
            #expect(call(80, .any) == errSecItemNotFound)
            #expect(call(0, .FTP) == errSecItemNotFound)
        }
    }

    @Test func anItemIsMadeCopiedAndNamedForLater() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let other = try home.keychain("other")
            #expect(Self.add("mail", "hunter2") == errSecSuccess)
            let item = try #require(Self.find("mail").item)
            var copy: SecKeychainItem?
            #expect(SecKeychainItemCreateCopy(item, other, nil, &copy) == errSecSuccess)
            #expect(Self.find("mail", in: other).password == "hunter2")
            var keychain: SecKeychain?
            #expect(SecKeychainItemCopyKeychain(try #require(copy), &keychain) == errSecSuccess)
            #expect(keychain == other)
            var reference: CFData?
            #expect(SecKeychainItemCreatePersistentReference(item, &reference) == errSecSuccess)
            var found: SecKeychainItem?
            let kept = try #require(reference)
            #expect(SecKeychainItemCopyFromPersistentReference(kept, &found) == errSecSuccess)
            #expect(found == item)
            #expect(SecKeychainItemDelete(item) == errSecSuccess)
            #expect(SecKeychainItemCopyFromPersistentReference(kept, &found) == errSecItemNotFound)
        }
    }

    @Test func theSearchListAndSettingsAreReadAndSet() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let other = try home.keychain("other")
            var list: CFArray?
            #expect(SecKeychainCopySearchList(&list) == errSecSuccess)
            #expect((list as? [SecKeychain])?.count == 2)
            #expect(SecKeychainSetSearchList([other] as CFArray) == errSecSuccess)
            #expect(SecKeychainCopySearchList(&list) == errSecSuccess)
            #expect(list as? [SecKeychain] == [other])
            #expect(SecKeychainSetSearchList(["other"] as CFArray) == errSecParam)
            var settings = SecKeychainSettings(lockOnSleep: true, useLockInterval: true, lockInterval: 300)
            #expect(SecKeychainSetSettings(other, &settings) == errSecSuccess)
            var read = SecKeychainSettings()
            #expect(SecKeychainCopySettings(other, &read) == errSecSuccess)
            #expect(read.lockOnSleep.boolValue && read.useLockInterval.boolValue && read.lockInterval == 300)

            var status: SecKeychainStatus = 0
            #expect(SecKeychainGetStatus(other, &status) == errSecSuccess)
            #expect(status & kSecUnlockStateStatus != 0)
            #expect(SecKeychainLockAll() == errSecSuccess)
            #expect(SecKeychainGetStatus(other, &status) == errSecSuccess)
            #expect(status & kSecUnlockStateStatus == 0)
            var (path, length) = ([CChar](repeating: 0, count: 4096), UInt32(4096))
            #expect(SecKeychainGetPath(other, &length, &path) == errSecSuccess)
            #expect(Int(length) == strlen(path))
            length = 1
            #expect(SecKeychainGetPath(other, &length, &path) == errSecBufferTooSmall)
            #expect(SecKeychainDelete(other) == errSecSuccess)
            #expect(SecKeychainDelete(nil) == errSecInvalidKeychain)
        }
    }

    @Test func nobodyIsAskedWhereThatIsNotAllowed() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            setenv("PINENTRY_PROGRAM", home.path("none"), 1)
            #expect(Self.add("mail", "hunter2") == errSecSuccess)
            #expect(SecKeychainLock(nil) == errSecSuccess)
            #expect(SecKeychainSetUserInteractionAllowed(false) == errSecSuccess)
            var state: DarwinBoolean = true
            #expect(SecKeychainGetUserInteractionAllowed(&state) == errSecSuccess && !state.boolValue)
            #expect(Self.find("mail").status == errSecInteractionNotAllowed)
        }
    }
}
