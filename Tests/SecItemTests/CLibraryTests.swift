import Foundation
import TestSupport
import Testing

/// C programs that keep passwords.
@Suite struct CLibraryTests {
    private let stage: CStage
    private var folder: TemporaryFolder { stage.folder }
    private var environment: [String: String] { stage.environment }

    init() throws { stage = try CStage() }

    private func run(_ source: String, _ environment: [String: String]? = nil) throws -> ProgramResult {
        try stage.run(source, environment)
    }

    @Test func theExampleStoresFindsChangesAndDeletesAPassword() throws {
        let made = try run("CFRelease(fresh(\"login\"));")
        #expect(made.status == 0, "\(made)")
        let example = try stage.compile(Program.packageRoot.path + "/Examples/C/password.c", to: "password")
        let result = try Program.run([example, "login", "open"], environment: environment)
        #expect(result.text == "jo at mail.example.com: hunter2\njo at mail.example.com: correct horse\n")
        #expect(String(decoding: result.errors, as: UTF8.self) == "find: no item matches (-25300)\n")
        let wrong = try Program.run([example, "login", "wrong"], environment: environment)
        #expect(wrong.status == 1)
        #expect(String(decoding: wrong.errors, as: UTF8.self).contains("(-25293)"))
    }

    @Test func internetPasswordsAreFoundByWhatIsGivenOfThem() throws {
        let result = try run(
            """
            SecKeychainRef keychain = fresh("login");
            SecKeychainItemRef item;
            assert(SecKeychainAddInternetPassword(NULL, 15, "www.example.com", 0, NULL, 2, "jo", 5, "/path", 443,
                kSecProtocolTypeHTTPS, kSecAuthenticationTypeHTTPBasic, 6, "secret", NULL) == errSecSuccess);
            assert(SecKeychainAddInternetPassword(NULL, 15, "www.example.com", 0, NULL, 2, "jo", 5, "/path", 443,
                kSecProtocolTypeHTTPS, kSecAuthenticationTypeHTTPBasic, 6, "secret", NULL) == errSecDuplicateItem);
            assert(SecKeychainFindInternetPassword(NULL, 15, "www.example.com", 0, NULL, 0, NULL, 0, NULL, 80, 0, 0,
                NULL, NULL, NULL) == errSecItemNotFound);
            uint32_t length; void *data;
            assert(SecKeychainFindInternetPassword(keychain, 15, "www.example.com", 0, NULL, 0, NULL, 0, NULL, 0,
                kSecProtocolTypeAny, kSecAuthenticationTypeAny, &length, &data, &item) == errSecSuccess);
            assert(length == 6 && memcmp(data, "secret", 6) == 0);
            SecKeychainItemFreeContent(NULL, data);

            uint32_t tags[] = {kSecServerItemAttr, kSecPortItemAttr, kSecProtocolItemAttr, kSecCommentItemAttr};
            SecKeychainAttributeInfo info = {4, tags, NULL};
            SecKeychainAttributeList *list; SecItemClass class;
            assert(SecKeychainItemCopyAttributesAndData(item, &info, &class, &list, NULL, NULL) == errSecSuccess);
            assert(class == kSecInternetPasswordItemClass && list->count == 4);
            assert(list->attr[0].length == 15 && memcmp(list->attr[0].data, "www.example.com", 15) == 0);
            assert(*(uint32_t *)list->attr[1].data == 443);
            assert(*(SecProtocolType *)list->attr[2].data == kSecProtocolTypeHTTPS);
            assert(list->attr[3].data == NULL && list->attr[3].length == 0);
            SecKeychainItemFreeAttributesAndData(list, NULL);
            CFRelease(item);
            CFRelease(keychain);
            """)
        #expect(result.status == 0, "\(result)")
    }

    @Test func textOfNoLengthStandsForAny() throws {
        let result = try run(
            """
            SecKeychainRef keychain = fresh("login");
            assert(SecKeychainAddGenericPassword(NULL, 4, "mail", 2, "jo", 1, "p", NULL) == errSecSuccess);
            assert(SecKeychainAddInternetPassword(NULL, 1, "h", 0, NULL, 2, "jo", 5, "/path", 443,
                kSecProtocolTypeHTTPS, kSecAuthenticationTypeDefault, 1, "p", NULL) == errSecSuccess);
            assert(SecKeychainFindGenericPassword(NULL, 4, "mail", 0, "", NULL, NULL, NULL) == errSecSuccess);
            assert(SecKeychainFindGenericPassword(NULL, 0, "", 0, "", NULL, NULL, NULL) == errSecSuccess);
            assert(SecKeychainFindInternetPassword(NULL, 0, "", 0, "", 0, "", 0, "", 0, 0, 0, NULL, NULL, NULL)
                == errSecSuccess);
            assert(SecKeychainFindGenericPassword(NULL, 0, "", 1, "x", NULL, NULL, NULL) == errSecItemNotFound);
            CFRelease(keychain);
            """)
        #expect(result.status == 0, "\(result)")
    }

    @Test func aKeychainThatFailsHidesNoOther() throws {
        let result = try run(
            """
            SecKeychainRef login = fresh("login"), other = fresh("other");
            assert(SecKeychainAddGenericPassword(other, 4, "mail", 2, "jo", 1, "p", NULL) == errSecSuccess);
            char path[4096]; uint32_t length = sizeof path;
            assert(SecKeychainGetPath(login, &length, path) == errSecSuccess);
            FILE *file = fopen(path, "w");
            assert(file && fputs("no keychain at all, and long enough to be read as one", file) > 0);
            fclose(file);
            void *data;
            assert(SecKeychainFindGenericPassword(NULL, 4, "mail", 0, NULL, &length, &data, NULL) == errSecSuccess);
            assert(length == 1);
            SecKeychainItemFreeContent(NULL, data);
            assert(SecKeychainFindGenericPassword(NULL, 4, "none", 0, NULL, NULL, NULL, NULL) == errSecItemNotFound);
            assert(SecKeychainDelete(other) == errSecSuccess);
            OSStatus status = SecKeychainFindGenericPassword(NULL, 4, "mail", 0, NULL, NULL, NULL, NULL);
            assert(status != errSecSuccess && status != errSecItemNotFound);
            """)
        #expect(result.status == 0, "\(result)")
    }

    @Test func aDamagedPasswordHidesNoOther() throws {
        let made = try run(
            """
            SecKeychainRef keychain = fresh("login");
            for (const char *name = "abc"; *name; name++)
                assert(SecKeychainAddGenericPassword(keychain, 4, "mail", 1, name, 1, name, NULL) == errSecSuccess);
            CFRelease(keychain);
            """)
        #expect(made.status == 0, "\(made)")
        func damage(_ accounts: String) throws {
            let result = try Program.run([
                "sqlite3", "-cmd", ".timeout 30000", folder.path("tokenkit/keychains/login.keychain"),
                "UPDATE genp SET icmt = 'x' WHERE acct IN (\(accounts))",
            ])
            #expect(result.status == 0, "\(result)")
        }
        let find = """
            SecKeychainRef keychain;
            assert(SecKeychainOpen("login", &keychain) == errSecSuccess);
            assert(SecKeychainUnlock(keychain, 4, "open", 1) == errSecSuccess);
            uint32_t length; void *data;
            """
        try damage("'a', 'b'")
        let found = try run(
            find + """

                assert(SecKeychainFindGenericPassword(NULL, 4, "mail", 0, NULL, &length, &data, NULL) == errSecSuccess);
                assert(length == 1 && *(char *)data == 'c');
                SecKeychainItemFreeContent(NULL, data);
                """)
        #expect(found.status == 0, "\(found)")
        try damage("'c'")
        let none = try run(
            find + """

                assert(SecKeychainFindGenericPassword(NULL, 4, "mail", 0, NULL, &length, &data, NULL) == errSecDecode);
                """)
        #expect(none.status == 0, "\(none)")
    }

    @Test func aGuardedPasswordIsReadByWhoShowsToBeThere() throws {
        let made = try run("CFRelease(fresh(\"login\"));")
        #expect(made.status == 0, "\(made)")
        // An access control of version 1, with user presence, for an unlocked session.
        let attributes = "class=genp,svce=bank,accc=0x0100000001616b"
        let added = try Program.run(
            [
                "sh", "-c",
                "cd '\(folder.path)' && umask 077 && echo open > pin && echo s3cret > data && tokenctl item -a \(attributes) -f data --pin-source file:pin",
            ], environment: environment.merging(["PATH": Program.path + ":/usr/bin:/bin"]) { $1 })
        #expect(added.status == 0, "\(added)")
        let script = """
            echo OK
            while read -r command _; do
                if [ "$command" = GETPIN ]; then echo "D open"; fi
                echo OK
                if [ "$command" = BYE ]; then exit; fi
            done
            """
        let pinentry = folder.path("pinentry")
        try folder.writeProgram("pinentry", script)
        let result = try run(
            """
            uint32_t length; void *data;
            assert(SecKeychainFindGenericPassword(NULL, 4, "bank", 0, NULL, &length, &data, NULL) == errSecSuccess);
            assert(length >= 6 && memcmp(data, "s3cret", 6) == 0);
            SecKeychainItemFreeContent(NULL, data);
            assert(SecKeychainSetUserInteractionAllowed(0) == errSecSuccess);
            assert(SecKeychainFindGenericPassword(NULL, 4, "bank", 0, NULL, &length, &data, NULL)
                == errSecInteractionNotAllowed);
            """, environment.merging(["PINENTRY_PROGRAM": pinentry]) { $1 })
        #expect(result.status == 0, "\(result)")
    }

    @Test func attributesAreChangedAndReadBack() throws {
        let result = try run(
            """
            SecKeychainRef keychain = fresh("login");
            SecKeychainItemRef item;
            assert(SecKeychainAddGenericPassword(keychain, 4, "mail", 2, "jo", 0, NULL, &item) == errSecSuccess);
            SecProtocolType protocol = kSecProtocolTypeHTTP;
            SecKeychainAttribute wrong[] = {{kSecProtocolItemAttr, 4, &protocol}};
            SecKeychainAttributeList refused = {1, wrong};
            assert(SecKeychainItemModifyContent(item, &refused, 0, NULL) == errSecNoSuchAttr);
            uint32_t creator = 0x74657374;
            SecKeychainAttribute changes[] = {{kSecLabelItemAttr, 7, "My mail"}, {kSecCreatorItemAttr, 4, &creator}};
            SecKeychainAttributeList changed = {2, changes};
            assert(SecKeychainItemModifyContent(item, &changed, 3, "new") == errSecSuccess);
            SecKeychainAttribute wanted[] = {{kSecLabelItemAttr, 0, NULL}, {kSecCreatorItemAttr, 0, NULL},
                {kSecModDateItemAttr, 0, NULL}};
            SecKeychainAttributeList list = {3, wanted};
            uint32_t length; void *data;
            assert(SecKeychainItemCopyContent(item, NULL, &list, &length, &data) == errSecSuccess);
            assert(length == 3 && memcmp(data, "new", 3) == 0);
            assert(wanted[0].length == 7 && memcmp(wanted[0].data, "My mail", 7) == 0);
            assert(*(uint32_t *)wanted[1].data == creator);
            assert(wanted[2].length == 16 && ((char *)wanted[2].data)[14] == 'Z' && ((char *)wanted[2].data)[15] == 0);
            SecKeychainItemFreeContent(&list, data);
            SecKeychainAttributeList empty = {3, NULL};
            assert(SecKeychainItemModifyContent(item, &empty, 3, "bad") == errSecParam);
            assert(SecKeychainItemCopyContent(item, NULL, &empty, &length, &data) == errSecParam);
            SecKeychainAttributeList none = {0, NULL};
            assert(SecKeychainItemCopyContent(item, NULL, &none, &length, &data) == errSecSuccess);
            assert(length == 3 && memcmp(data, "new", 3) == 0);
            SecKeychainItemFreeContent(NULL, data);
            SecKeychainItemRef made, copy;
            SecKeychainAttribute names[] = {{kSecServiceItemAttr, 4, "made"}, {kSecAccountItemAttr, 2, "jo"}};
            SecKeychainAttributeList content = {2, names};
            assert(SecKeychainItemCreateFromContent(kSecGenericPasswordItemClass, &content, 4, "same", NULL, NULL, &made)
                == errSecSuccess);
            assert(SecKeychainItemCreateFromContent(kSecGenericPasswordItemClass, &content, 4, "same", NULL, NULL, NULL)
                == errSecDuplicateItem);
            assert(SecKeychainItemCreateFromContent(0x12345678, &content, 4, "same", NULL, NULL, NULL) == errSecNoSuchClass);
            assert(SecKeychainItemCreateCopy(made, NULL, NULL, NULL) == errSecDuplicateItem);
            SecKeychainRef target = fresh("target");
            assert(SecKeychainItemCreateCopy(made, target, NULL, &copy) == errSecSuccess);
            assert(SecKeychainItemDelete(made) == errSecSuccess);
            assert(SecKeychainFindGenericPassword(target, 4, "made", 2, "jo", &length, &data, NULL) == errSecSuccess);
            assert(length == 4 && memcmp(data, "same", 4) == 0);
            SecKeychainItemFreeContent(NULL, data);
            assert(SecKeychainItemCreateCopy(NULL, target, NULL, NULL) == errSecInvalidItemRef);
            SecKeychainAttribute unknown[] = {{0x7A7A7A7A, 0, NULL}, {kSecPortItemAttr, 0, NULL}};
            SecKeychainAttributeList others[] = {{1, unknown}, {1, unknown + 1}};
            assert(SecKeychainItemCopyContent(item, NULL, others, &length, &data) == errSecNoSuchAttr);
            assert(SecKeychainItemCopyContent(item, NULL, others + 1, NULL, NULL) == errSecNoSuchAttr);
            assert(SecKeychainItemModifyContent(item, NULL, 0, NULL) == errSecSuccess);
            CFRelease(made); CFRelease(copy); CFRelease(target);
            assert(SecKeychainItemDelete(item) == errSecSuccess);
            assert(SecKeychainItemDelete(item) == errSecInvalidItemRef);
            assert(SecKeychainItemCopyContent(item, NULL, NULL, NULL, NULL) == errSecInvalidItemRef);
            CFRelease(item);
            """)
        #expect(result.status == 0, "\(result)")
    }

    @Test func anItemThatSynchronizesIsFoundWhereNoOtherIs() throws {
        #expect(try run("CFRelease(fresh(\"login\"));").status == 0)
        func find(_ secret: String) throws -> ProgramResult {
            try run(
                """
                char *data; uint32_t length;
                assert(SecKeychainUnlock(NULL, 4, "open", 1) == errSecSuccess);
                assert(SecKeychainFindGenericPassword(NULL, 1, "s", 0, NULL, &length, (void **)&data, NULL)
                    == errSecSuccess);
                assert(length == 5 && memcmp(data, "\(secret)", 5) == 0);
                """)
        }
        for (synchronizes, secret) in [(1, "cloud"), (0, "local")] {
            let item = "class=genp,svce=s,sync=\(synchronizes)"
            let added = try Program.run(
                [
                    "sh", "-c",
                    "cd '\(folder.path)' && umask 077 && echo open >pin && printf \(secret) >data && tokenctl item -a \(item) -f data --pin-source file:pin",
                ], environment: environment.merging(["PATH": Program.path + ":/usr/bin:/bin"]) { $1 })
            #expect(added.status == 0, "\(added)")
            let found = try find(secret)
            #expect(found.status == 0, "\(found)")
        }
    }

    @Test func dataStaysDataThoughTheyAreText() throws {
        let made = try run(
            """
            CFRelease(fresh("login"));
            SecKeychainAttribute names[] = {{kSecServiceItemAttr, 4, "made"}, {kSecGenericItemAttr, 3, "\\t\\0\\b"}};
            SecKeychainAttributeList content = {2, names};
            assert(SecKeychainItemCreateFromContent(kSecGenericPasswordItemClass, &content, 4, "same", NULL, NULL, NULL)
                == errSecSuccess);
            """)
        #expect(made.status == 0, "\(made)")
        let listed = try Program.run(
            ["tokenctl", "find-generic-password", "-s", "made", "--json"],
            environment: environment.merging(["PATH": Program.path + ":/usr/bin:/bin"]) { $1 })
        #expect(listed.text.contains("\"090008\""), "\(listed)")
    }

    @Test func onlyItsOwnNamesAreExported() throws {
        let result = try Program.run([
            "nm", "--dynamic", "--defined-only", "--extern-only", Program.products + "/libtokenkit-keychain.so",
        ])
        let names = result.text.split(separator: "\n").compactMap { $0.split(separator: " ").last }
        let header = try String(
            contentsOf: Program.packageRoot.appending(path: "Sources/CSecKeychain/include/SecKeychain.h"),
            encoding: .utf8)
        for name in names where !name.hasPrefix("TOKENKIT_KEYCHAIN_") {
            let name = name.prefix { $0 != "@" }
            let isDeclared = header.contains("\(name)(") || header.contains("extern const CFStringRef \(name);")
            #expect(isDeclared, "\(name) is exported and not declared")
        }
        #expect(names.count > 25)
    }
}
