import Foundation
import SecItem
import TestSupport
import Testing

/// Passwords as programs for Apple's platforms keep them. Each test has a process and a home of its own.
@Suite struct SecItemPasswordTests {
    @Test func aPasswordIsAddedFoundChangedAndDeleted() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let item: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "mail",
                kSecAttrAccount as String: "jo",
            ]
            #expect(add(item.merging([kSecValueData as String: Data("hunter2".utf8)]) { $1 }) == errSecSuccess)
            let query = item.merging([kSecReturnData as String: true]) { $1 }
            #expect(try find(query) as? Data == Data("hunter2".utf8))
            let changes = [kSecValueData: Data("longer than before".utf8)] as CFDictionary
            #expect(SecItemUpdate(item as CFDictionary, changes) == errSecSuccess)
            #expect(try find(query) as? Data == Data("longer than before".utf8))
            #expect(SecItemDelete(item as CFDictionary) == errSecSuccess)
            #expect(status(of: query) == errSecItemNotFound)
            #expect(SecItemDelete(item as CFDictionary) == errSecItemNotFound)
        }
    }

    /// Wrappers give the access control with each change, as when they added the item.
    @Test func theAccessControlThatAnItemHasIsNoChangeAndAnotherIsRefused() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            func control(_ flags: SecAccessControlCreateFlags) throws -> SecAccessControl {
                try #require(SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, flags, nil))
            }
            let item: [String: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: "s", kSecAttrAccount: "a",
            ]
            func change(_ flags: SecAccessControlCreateFlags) throws -> OSStatus {
                let changes: [String: Any] = [
                    kSecAttrAccessControl: try control(flags), kSecAttrLabel: "\(flags.rawValue)",
                ]
                return SecItemUpdate(item as CFDictionary, changes as CFDictionary)
            }
            let secret: [String: Any] = [kSecValueData: Data("secret".utf8)]
            let guarded = try secret.merging([kSecAttrAccessControl: control(.userPresence)]) { $1 }
            #expect(add(item.merging(guarded) { $1 }) == errSecSuccess)
            #expect(try change(.userPresence) == errSecSuccess)
            #expect(try change(.devicePasscode) == errSecParam)
            #expect(SecItemDelete(item as CFDictionary) == errSecSuccess)
            #expect(add(item.merging(secret) { $1 }) == errSecSuccess)
            #expect(try change(.userPresence) == errSecParam)
        }
    }

    @Test func shapesOfResultsFollowWhatIsAskedForAndTheLimit() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            for account in ["a", "b"] {
                #expect(
                    add([
                        kSecClass: kSecClassGenericPassword, kSecAttrService: "s", kSecAttrAccount: account,
                        kSecValueData: Data(account.utf8),
                    ]) == errSecSuccess)
            }
            let query: [String: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrService: "s"]
            func ask(_ more: [String: Any]) throws -> AnyObject? { try find(query.merging(more) { $1 }) }

            #expect(try ask([:]) == nil)
            #expect(try ask([kSecReturnData: true]) as? Data == Data("a".utf8))
            #expect(
                try ask([kSecReturnData: true, kSecMatchLimit: kSecMatchLimitAll]) as? [Data]
                    == [Data("a".utf8), Data("b".utf8)])
            let attributes = try #require(try ask([kSecReturnAttributes: true]) as? [String: Any])
            #expect(attributes[kSecAttrAccount] as? String == "a")
            #expect(attributes[kSecClass] as? String == kSecClassGenericPassword)
            #expect(attributes[kSecAttrCreationDate] is Date)
            #expect(attributes[kSecAttrSynchronizable] as? Bool == false)
            #expect(attributes[kSecValueData] == nil)
            let all =
                try ask([kSecReturnAttributes: true, kSecReturnData: true, kSecMatchLimit: 2]) as? [[String: Any]]
            #expect(all?.map { $0[kSecValueData] as? Data } == [Data("a".utf8), Data("b".utf8)])
        }
    }

    @Test func aPersistentReferenceNamesTheItemAcrossChanges() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            var result: CFTypeRef?
            let item: [String: Any] = [
                kSecClass: kSecClassInternetPassword, kSecAttrServer: "www.example.com", kSecAttrAccount: "jo",
                kSecAttrPort: 443, kSecAttrProtocol: kSecAttrProtocolHTTPS, kSecValueData: Data("one".utf8),
                kSecReturnPersistentRef: true,
            ]
            #expect(SecItemAdd(item as CFDictionary, &result) == errSecSuccess)
            let reference = try #require(result as? Data)
            let query: [String: Any] = [kSecClass: kSecClassInternetPassword, kSecAttrServer: "www.example.com"]
            #expect(SecItemUpdate(query as CFDictionary, [kSecAttrPort: 8443] as CFDictionary) == errSecSuccess)
            let found = try find([
                kSecValuePersistentRef: reference, kSecReturnAttributes: true, kSecReturnData: true,
            ])
            let attributes = try #require(found as? [String: Any])
            #expect(attributes[kSecAttrPort] as? Int == 8443)
            #expect(attributes[kSecAttrProtocol] as? String == kSecAttrProtocolHTTPS)
            #expect(attributes[kSecValueData] as? Data == Data("one".utf8))
        }
    }

    @Test func aKeychainOfASearchListThatCannotBeOpenedHidesNoOther() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let other = try home.keychain("other")
            let item: [String: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrService: "s"]
            #expect(add(item.merging([kSecUseKeychain: other, kSecValueData: Data([1])]) { $1 }) == errSecSuccess)
            var missing: SecKeychain?
            #expect(SecKeychainOpen(home.path("missing.keychain"), &missing) == errSecSuccess)
            let gone = try #require(missing)
            func found(_ list: [Any]) -> OSStatus { status(of: item.merging([kSecMatchSearchList: list]) { $1 }) }
            #expect(found([gone, other]) == errSecSuccess)
            #expect(found([other, gone]) == errSecSuccess)
            #expect(found([gone]) == errSecNoSuchKeychain)
            #expect(found([gone, "no keychain"]) == errSecParam)
            let search = item.merging([kSecMatchSearchList: [gone, other], kSecAttrAccount: "none"]) { $1 }
            #expect(status(of: search) == errSecItemNotFound)
        }
    }

    @Test func aNewKeychainIsUnlockedHoweverItsPathIsWritten() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            for name in [
                "/one.keychain", "./two.keychain", "../\((home.path("") as NSString).lastPathComponent)/three.keychain",
            ] {
                var keychain: SecKeychain?
                #expect(SecKeychainCreate(home.path(name), 4, "open", false, nil, &keychain) == errSecSuccess)
                let item: [String: Any] = [
                    kSecClass: kSecClassGenericPassword, kSecAttrAccount: "a", kSecValueData: Data([1]),
                    kSecUseKeychain: try #require(keychain),
                ]
                #expect(add(item) == errSecSuccess, "\(name)")
            }
            // A home whose name ends with a slash.
            for name in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"] { setenv(name, home.path("") + "/", 1) }
            #expect(add([kSecClass: kSecClassGenericPassword, kSecValueData: Data([1])]) == errSecSuccess)
        }
    }

    @Test func whatCannotBeHonouredIsRefused() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let refused: [([String: Any], OSStatus)] = [
                (["foo": "bar"], errSecParam), ([kSecAttrServer: "x"], errSecNoSuchAttr),
                ([kSecReturnData: "yes"], errSecParam), ([kSecMatchLimit: 0], errSecParam),
                ([kSecAttrAccount: NSNull()], errSecParam), ([kSecAttrAccount: Date.distantPast], errSecParam),
                ([kSecValueData: Data()], errSecParam), ([kSecClass: "none"], errSecNoSuchClass),
                ([kSecAttrAccount: NSObject()], errSecParam),
            ]
            for (keys, code) in refused {
                let query: [String: Any] = [kSecClass: kSecClassGenericPassword].merging(keys) { $1 }
                #expect(status(of: query) == code, "\(keys)")
            }
            #expect(SecItemCopyMatching([:], nil) == errSecParam)
            let asking = [kSecClass: kSecClassGenericPassword, kSecReturnData: true] as CFDictionary
            #expect(SecItemCopyMatching(asking, nil) == errSecParam)
        }
    }

    @Test func numbersAreWholeAndNotTooLarge() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let item: [String: Any] = [kSecClass: kSecClassInternetPassword, kSecAttrServer: "h"]
            for port in [80.7, Double.infinity, -Double.nan, UInt64.max, Float(0.5)] as [Any] {
                #expect(add(item.merging([kSecAttrPort: port]) { $1 }) == errSecParam, "\(port)")
            }
            let never = Date(timeIntervalSince1970: .infinity)
            #expect(status(of: item.merging([kSecAttrCreationDate: never]) { $1 }) == errSecParam)
            for limit in [1.5, UInt64.max] as [Any] {
                #expect(status(of: item.merging([kSecMatchLimit: limit]) { $1 }) == errSecParam, "\(limit)")
            }
            for (port, whole) in [(80.0, 80), (UInt64(81), 81), (Float(82), 82), (UInt8(83), 83)] as [(Any, Int)] {
                #expect(add(item.merging([kSecAttrPort: port]) { $1 }) == errSecSuccess, "\(port)")
                #expect(status(of: item.merging([kSecAttrPort: whole]) { $1 }) == errSecSuccess)
            }
        }
    }

    @Test func anAccessControlComesBackAsOne() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let control = try #require(
                SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .userPresence, nil))
            let item: [String: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrAccount: "a"]
            let guarded: [String: Any] = [
                kSecAttrAccessControl: control, kSecValueData: Data([1]), kSecReturnAttributes: true,
            ]
            var added: CFTypeRef?
            #expect(SecItemAdd(item.merging(guarded) { $1 } as CFDictionary, &added) == errSecSuccess)
            let found = try find(item.merging([kSecReturnAttributes: true]) { $1 })
            for result in [added, found] {
                #expect((result as? [String: Any])?[kSecAttrAccessControl] is SecAccessControl)
            }
            // The returned attributes are a query for the same item.
            #expect(status(of: try #require(found as? [String: Any])) == errSecSuccess)
        }
    }

    /// A program may ignore the error: an access control that is nil leaves its key out of the dictionary.
    @Test func whatCannotBeProtectedAsAskedForIsNotStored() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let rows: [(String, SecAccessControlCreateFlags, OSStatus)] = [
                (kSecAttrAccessibleWhenUnlocked, .biometryAny, errSecUnimplemented),
                (kSecAttrAccessibleWhenUnlocked, .biometryCurrentSet, errSecUnimplemented),
                (kSecAttrAccessibleWhenUnlocked, .companion, errSecUnimplemented),
                (kSecAttrAccessibleWhenUnlocked, [.biometryAny, .privateKeyUsage], errSecUnimplemented),
                (kSecAttrAccessibleWhenUnlocked, [.biometryAny, .and, .devicePasscode], errSecUnimplemented),
                (kSecAttrAccessibleWhenUnlocked, [.userPresence, .devicePasscode], errSecParam),
                ("none", .userPresence, errSecParam),
            ]
            for (protection, flags, expected) in rows {
                var item: [String: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrAccount: "\(flags.rawValue)"]
                let bare = item
                item[kSecValueData] = Data([1])
                item[kSecAttrAccessControl] = SecAccessControlCreateWithFlags(nil, protection, flags, nil)
                #expect(SecItemAdd(item as CFDictionary, nil) == expected, "\(flags)")
                #expect(SecItemCopyMatching(bare as CFDictionary, nil) == errSecItemNotFound)
                // An item that is there does not lose or get protection either.
                #expect(add(bare.merging([kSecValueData: Data([1])]) { $1 }) == errSecSuccess)
                let change = [kSecAttrAccessControl: item[kSecAttrAccessControl]!] as CFDictionary
                #expect(SecItemUpdate(bare as CFDictionary, change) == expected)
            }
        }
    }

    @Test func aKeyThatIsToBeGuardedByBiometricsIsNotMade() async throws {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            var guarded: [String: Any] = [kSecAttrIsPermanent: true]
            guarded[kSecAttrAccessControl] = SecAccessControlCreateWithFlags(
                nil, kSecAttrAccessibleWhenUnlocked, [.biometryAny, .privateKeyUsage], nil)
            var error: Unmanaged<CFError>?
            let wanted: [String: Any] = [
                kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: 256, kSecPrivateKeyAttrs: guarded,
            ]
            #expect(SecKeyCreateRandomKey(wanted as CFDictionary, &error) == nil)
            #expect(error.map { CFErrorGetCode($0.takeRetainedValue()) } == Int(errSecUnimplemented))
            #expect(status(of: [kSecClass: kSecClassKey]) == errSecItemNotFound)
        }
    }

    @Test func whoLooksAtTheErrorLearnsOfFlagsThatContradictEachOther() {
        var error: Unmanaged<CFError>?
        let flags: SecAccessControlCreateFlags = [.userPresence, .devicePasscode]
        #expect(SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, flags, &error) == nil)
        #expect(error?.takeRetainedValue() != nil)
        error = nil
        let biometry = SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .biometryAny, &error)
        #expect(biometry != nil && error == nil)
        #expect(CFEqual(biometry, biometry))
    }

    @Test func aLockedKeychainGivesAttributesAndNoSecrets() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let item: [String: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrService: "s"]
            #expect(add(item.merging([kSecValueData: Data("x".utf8)]) { $1 }) == errSecSuccess)
            #expect(SecKeychainLock(nil) == errSecSuccess)
            #expect(SecKeychainUnlock(nil, 0, nil, false) == errSecAuthFailed)
            #expect(try find(item.merging([kSecReturnAttributes: true]) { $1 }) is [String: Any])
            let quiet: [String: Any] = [kSecReturnData: true, kSecUseAuthenticationUI: kSecUseAuthenticationUIFail]
            #expect(status(of: item.merging(quiet) { $1 }) == errSecInteractionNotAllowed)
            let skipping: [String: Any] = [kSecReturnData: true, kSecUseAuthenticationUI: kSecUseAuthenticationUISkip]
            #expect(status(of: item.merging(skipping) { $1 }) == errSecItemNotFound)
            let context = LAContext()
            context.interactionNotAllowed = true
            #expect(context.setCredential(Data("open".utf8), type: .keychainPassword))
            let given: [String: Any] = [kSecReturnData: true, kSecUseAuthenticationContext: context]
            #expect(try find(item.merging(given) { $1 }) as? Data == Data("x".utf8))
            // A context is not allowed among changes or beside another credential, and no other object counts as one.
            let change = [kSecUseAuthenticationContext: context] as CFDictionary
            #expect(SecItemUpdate(item as CFDictionary, change) == errSecParam)
            for wrong: [String: Any] in [
                [kSecUseAuthenticationContext: "context"], given.merging(["u_CredRef": 1]) { $1 },
            ] {
                #expect(status(of: item.merging(wrong) { $1 }) == errSecParam)
            }
        }
    }

    @Test func aKeychainCanBeNamedToAddToAndToSearch() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let other = try home.keychain("other")
            let item: [String: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrService: "s"]
            #expect(add(item.merging([kSecUseKeychain: other, kSecValueData: Data("2".utf8)]) { $1 }) == errSecSuccess)
            #expect(add(item.merging([kSecValueData: Data("1".utf8)]) { $1 }) == errSecSuccess)
            let reading: [String: Any] = item.merging([kSecReturnData: true]) { $1 }
            #expect(try find(reading) as? Data == Data("1".utf8))
            #expect(try find(reading.merging([kSecMatchSearchList: [other]]) { $1 }) as? Data == Data("2".utf8))
        }
    }

    @Test func everyResultCodeHasAMessage() {
        #expect(SecCopyErrorMessageString(errSecItemNotFound, nil) as String? == "no item matches")
        #expect(SecCopyErrorMessageString(12345, nil)?.contains("12345") == true)
    }
}
