import Foundation
import SecItem
import TestSupport
import Testing

/// Calls of programs for Apple's platforms, which have to do the same here.
@Suite struct AppleCallTests {
    private static func item(_ service: String, _ account: String = "jo") -> [String: Any] {
        [kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: account]
    }

    @Test func aDeletionIsKeptToOneKeychain() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let other = try home.keychain("other")
            let item = AppleCallTests.item("mail")
            #expect(add(item) == errSecSuccess)
            #expect(add(item.merging([kSecUseKeychain: other]) { $1 }) == errSecSuccess)
            let inOther = item.merging([kSecMatchSearchList: [other]]) { $1 }
            let changes = [kSecAttrComment: "changed"] as CFDictionary
            #expect(SecItemUpdate(inOther as CFDictionary, changes) == errSecSuccess)
            let all = item.merging([kSecReturnAttributes: true, kSecMatchLimit: kSecMatchLimitAll]) { $1 }
            let comments = try find(all) as? [[String: Any]]
            #expect(comments?.map { $0[kSecAttrComment] as? String } == [nil, "changed"])
            #expect(SecItemDelete(inOther as CFDictionary) == errSecSuccess)
            #expect(SecItemDelete(inOther as CFDictionary) == errSecItemNotFound)
            let nowhere = item.merging([kSecMatchSearchList: [SecKeychain]()]) { $1 }
            #expect(SecItemDelete(nowhere as CFDictionary) == errSecItemNotFound)
            #expect(status(of: item) == errSecSuccess)
        }
    }

    @Test func aDeletionTakesAListOfItems() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            for service in ["a", "b", "c"] { #expect(add(AppleCallTests.item(service)) == errSecSuccess) }
            func reference(_ service: String, _ kind: String) throws -> Any {
                try #require(try find(AppleCallTests.item(service).merging([kind: true]) { $1 }))
            }
            // git's credential helper names no class.
            let one = [kSecMatchItemList: [try reference("a", kSecReturnRef)]] as CFDictionary
            #expect(SecItemDelete(one) == errSecSuccess)
            let two: [String: Any] = [
                kSecClass: kSecClassGenericPassword, kSecMatchItemList: [try reference("b", kSecReturnPersistentRef)],
            ]
            let changes = [kSecAttrComment: "changed"] as CFDictionary
            #expect(SecItemUpdate(two as CFDictionary, changes) == errSecSuccess)
            #expect(SecItemDelete(two as CFDictionary) == errSecSuccess)
            #expect(SecItemDelete([kSecMatchItemList: [Any]()] as CFDictionary) == errSecParam)
            let none: [String: Any] = [kSecClass: kSecClassGenericPassword, kSecMatchItemList: [Any]()]
            #expect(SecItemDelete(none as CFDictionary) == errSecItemNotFound)
            let all: [String: Any] = [
                kSecClass: kSecClassGenericPassword, kSecMatchLimit: kSecMatchLimitAll, kSecReturnAttributes: true,
            ]
            #expect((try find(all) as? [[String: Any]])?.map { $0[kSecAttrService] as? String } == ["c"])
        }
    }

    @Test func aDeletionOfAllMayHaveTheLimitAllAndNoOther() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            for service in ["a", "b"] { #expect(add(AppleCallTests.item(service)) == errSecSuccess) }
            let all: [String: Any] = [kSecClass: kSecClassGenericPassword]
            func limited(_ limit: Any) -> CFDictionary { all.merging([kSecMatchLimit: limit]) { $1 } as CFDictionary }
            let changes = [kSecAttrComment: "changed"] as CFDictionary
            for limit in [kSecMatchLimitOne, 1, 2] as [Any] {
                #expect(SecItemDelete(limited(limit)) == errSecParam)
                #expect(SecItemUpdate(limited(limit), changes) == errSecParam)
            }
            #expect(SecItemUpdate(limited(kSecMatchLimitAll), changes) == errSecSuccess)
            #expect(SecItemDelete(limited(kSecMatchLimitAll)) == errSecSuccess)
            #expect(status(of: all) == errSecItemNotFound)
        }
    }

    @Test func anAdditionMayLeaveItsResultWhereItIs() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let item = AppleCallTests.item("mail").merging([kSecReturnAttributes: true, kSecReturnData: true]) { $1 }
            #expect(add(item) == errSecSuccess)
            #expect(add(item) == errSecDuplicateItem)
        }
    }

    @Test func passwordsAreFoundWhateverTheirCase() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let labelled = AppleCallTests.item("Mail", "Jürgen").merging([kSecAttrLabel: "Work"]) { $1 }
            #expect(add(labelled) == errSecSuccess)
            let server: [String: Any] = [
                kSecClass: kSecClassInternetPassword, kSecAttrServer: "Mail.Example.com", kSecAttrPath: "/In",
            ]
            #expect(add(server) == errSecSuccess)
            func found(_ itemClass: String, _ attributes: [String: Any], _ loosely: String?) -> OSStatus {
                var query = attributes.merging([kSecClass: itemClass]) { $1 }
                if let loosely { query[loosely] = true }
                return status(of: query)
            }
            let generic: [[String: Any]] = [
                [kSecAttrService: "mAIL"], [kSecAttrAccount: "JÜRGEN"],
                [kSecAttrService: "mail", kSecAttrAccount: "jürgen"], [kSecAttrLabel: "WORK"],
            ]
            for attributes in generic {
                #expect(found(kSecClassGenericPassword, attributes, nil) == errSecItemNotFound)
                #expect(found(kSecClassGenericPassword, attributes, kSecMatchCaseInsensitive) == errSecSuccess)
            }
            let plain: [String: Any] = [kSecAttrAccount: "Jurgen"]
            #expect(found(kSecClassGenericPassword, plain, kSecMatchDiacriticInsensitive) == errSecSuccess)
            let host: [String: Any] = [kSecAttrServer: "mail.example.COM"]
            #expect(found(kSecClassInternetPassword, host, nil) == errSecItemNotFound)
            #expect(found(kSecClassInternetPassword, host, kSecMatchCaseInsensitive) == errSecSuccess)
            // A path is compared with its case, and there is no loose search by a path alone.
            let path: [String: Any] = [kSecAttrServer: "mail.example.com", kSecAttrPath: "/in"]
            #expect(found(kSecClassInternetPassword, path, kSecMatchCaseInsensitive) == errSecItemNotFound)
            #expect(found(kSecClassInternetPassword, [kSecAttrPath: "/In"], kSecMatchCaseInsensitive) == errSecParam)
        }
    }

    @Test func passwordsAreChangedAndDeletedWhateverTheirCase() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            for service in ["Mail", "MAIL", "Post"] {
                #expect(add(AppleCallTests.item(service, "Jürgen")) == errSecSuccess)
            }
            func query(_ service: String, _ account: String, _ loosely: String...) -> CFDictionary {
                let folding = loosely.map { ($0, true as Any) }
                return AppleCallTests.item(service, account).merging(folding) { $1 } as CFDictionary
            }
            let changes = [kSecAttrComment: "changed"] as CFDictionary
            #expect(SecItemUpdate(query("mail", "jürgen"), changes) == errSecItemNotFound)
            #expect(SecItemUpdate(query("mail", "jürgen", kSecMatchCaseInsensitive), changes) == errSecSuccess)
            for (service, isChanged) in [("Mail", true), ("MAIL", true), ("Post", false)] {
                let changed = [
                    kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrComment: "changed",
                ]
                #expect(status(of: changed) == (isChanged ? errSecSuccess : errSecItemNotFound))
            }
            #expect(SecItemDelete(query("post", "Jurgen", kSecMatchCaseInsensitive)) == errSecItemNotFound)
            let both = query("post", "Jurgen", kSecMatchCaseInsensitive, kSecMatchDiacriticInsensitive)
            #expect(SecItemDelete(both) == errSecSuccess)
            #expect(SecItemDelete(query("mAIL", "JÜRGEN", kSecMatchCaseInsensitive)) == errSecSuccess)
            #expect(status(of: [kSecClass: kSecClassGenericPassword]) == errSecItemNotFound)
        }
    }

    @Test func theClassMayBeAmongChangesWhereItIsTheItems() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let item = AppleCallTests.item("mail")
            #expect(add(item) == errSecSuccess)
            func change(_ itemClass: String) -> OSStatus {
                SecItemUpdate(
                    item as CFDictionary, [kSecClass: itemClass, kSecAttrComment: "changed"] as CFDictionary)
            }
            #expect(change(kSecClassInternetPassword) == errSecParam)
            #expect(change(kSecClassGenericPassword) == errSecSuccess)
            #expect(status(of: item.merging([kSecAttrComment: "changed"]) { $1 }) == errSecSuccess)
        }
    }
}
