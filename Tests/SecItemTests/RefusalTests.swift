import Foundation
import SecItem
import TestSupport
import Testing

/// What is refused, and where a program's author reads why.
@Suite struct RefusalTests {
    @Test func aRefusalOfSecItemIsInTheLogWithItsKey() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let log = home.path("log")
            setenv("TOKENKIT_DEBUG", log, 1)
            let item: [String: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: "mail", kSecValueData: Data("s3cret".utf8),
            ]
            #expect(add(item) == errSecSuccess)
            #expect(!FileManager.default.fileExists(atPath: log))
            #expect(add(item) == errSecDuplicateItem)
            #expect(
                SecItemDelete([kSecClass: kSecClassGenericPassword, "f\u{1B}oo": "bar"] as CFDictionary) == errSecParam)
            #expect(SecKeyCreateRandomKey([kSecAttrKeyType: kSecAttrKeyTypeRSA] as CFDictionary, nil) == nil)
            let text = try String(contentsOfFile: log, encoding: .utf8)
            let lines = text.split(separator: "\n")
            #expect(lines.count == 3, "\(text)")
            #expect(lines[0].contains(" SecItemAdd: ") && lines[0].contains("[errSecDuplicateItem -25299]"))
            #expect(lines[1].contains(" SecItemDelete: ") && lines[1].hasSuffix("[errSecParam -50], key f\u{FFFD}oo"))
            #expect(lines[2].contains(" SecKeyCreateRandomKey: ") && lines[2].hasSuffix(", key bsiz"))
            #expect(lines.allSatisfy { $0.hasPrefix("tokenkit[\(getpid())] ") } && !text.contains("s3cret"))
            let attributes = try FileManager.default.attributesOfItem(atPath: log)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test func aRefusalOfTheCLibraryIsInTheLog() throws {
        let stage = try CStage()
        let source = """
            CFRelease(fresh("login"));
            assert(SecKeychainFindGenericPassword(NULL, 4, "mail", 0, NULL, NULL, NULL, NULL) == errSecItemNotFound);
            """
        let result = try stage.run(source, stage.environment.merging(["TOKENKIT_DEBUG": "1"]) { $1 })
        #expect(result.status == 0, "\(result)")
        let log = String(decoding: result.errors, as: UTF8.self)
        #expect(
            log.contains(" SecKeychainFindGenericPassword: no item matches [errSecItemNotFound -25300]\n"), "\(log)")
    }

    @Test func aLengthWithoutATextIsRefused() throws {
        let result = try CStage().run(
            """
            SecKeychainRef keychain = fresh("login");
            assert(SecKeychainAddGenericPassword(NULL, 3, NULL, 2, "jo", 1, "p", NULL) == errSecParam);
            assert(SecKeychainAddGenericPassword(NULL, 3, "web", 2, NULL, 1, "p", NULL) == errSecParam);
            assert(SecKeychainFindGenericPassword(NULL, 3, NULL, 0, NULL, NULL, NULL, NULL) == errSecParam);
            for (int missing = 0; missing < 4; missing++) {
                const char *text[] = {"h", "d", "a", "p"};
                text[missing] = NULL;
                assert(SecKeychainAddInternetPassword(NULL, 1, text[0], 1, text[1], 1, text[2], 1, text[3], 0, 0, 0,
                    1, "p", NULL) == errSecParam);
                assert(SecKeychainFindInternetPassword(NULL, 1, text[0], 1, text[1], 1, text[2], 1, text[3], 0, 0, 0,
                    NULL, NULL, NULL) == errSecParam);
            }
            SecKeychainAttribute attribute[] = {{kSecServiceItemAttr, 3, NULL}};
            SecKeychainAttributeList list = {1, attribute};
            assert(SecKeychainItemCreateFromContent(kSecGenericPasswordItemClass, &list, 1, "p", NULL, NULL, NULL)
                == errSecParam);
            CFRelease(keychain);
            """)
        #expect(result.status == 0, "\(result)")
    }

    @Test func anAccessForSomeProgramsIsRefused() throws {
        let result = try CStage().run(
            """
            SecKeychainRef keychain = fresh("login"), other = NULL;
            const void *access = keychain;
            assert(SecKeychainCreate("other", 4, "open", 0, access, &other) == errSecUnimplemented);
            assert(SecKeychainItemCreateFromContent(kSecGenericPasswordItemClass, NULL, 1, "p", NULL, access, NULL)
                == errSecUnimplemented);
            SecKeychainItemRef item;
            assert(SecKeychainAddGenericPassword(NULL, 3, "web", 0, NULL, 1, "p", &item) == errSecSuccess);
            assert(SecKeychainItemCreateCopy(item, NULL, access, NULL) == errSecUnimplemented);
            CFRelease(item);
            CFRelease(keychain);
            """)
        #expect(result.status == 0, "\(result)")
    }
}
