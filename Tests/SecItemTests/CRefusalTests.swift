import TestSupport
import Testing

/// Calls of the C library that are refused.
@Suite struct CRefusalTests {
    @Test func aRefusalIsInTheLog() throws {
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

    @Test func whatIsNoAccessIsRefused() throws {
        let result = try CStage().run(
            """
            SecKeychainRef keychain = fresh("login"), other = NULL;
            const void *access = keychain;
            assert(SecKeychainCreate("other", 4, "open", 0, access, &other) == errSecUnimplemented);
            assert(SecKeychainItemCreateFromContent(kSecGenericPasswordItemClass, NULL, 1, "p", NULL, access, NULL)
                == errSecParam);
            SecKeychainItemRef item;
            assert(SecKeychainAddGenericPassword(NULL, 3, "web", 0, NULL, 1, "p", &item) == errSecSuccess);
            assert(SecKeychainItemCreateCopy(item, NULL, access, NULL) == errSecParam);
            CFRelease(item);
            CFRelease(keychain);
            """)
        #expect(result.status == 0, "\(result)")
    }
}
