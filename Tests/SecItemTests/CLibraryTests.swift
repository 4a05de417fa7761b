import Foundation
import TestSupport
import Testing

/// C programs on the shared library, compiled and run as their authors would.
@Suite struct CLibraryTests {
    private let folder: TemporaryFolder
    private var environment: [String: String] {
        var variables = ["LD_LIBRARY_PATH": folder.path, "PINENTRY_PROGRAM": "/nonexistent"]
        for name in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"] {
            variables[name] = folder.path
        }
        return variables
    }

    init() throws {
        folder = try TemporaryFolder()
        // Programs ask for the library by its version, which the file has only once it is installed.
        let library = Program.products + "/libtokenkit-keychain.so"
        for name in ["libtokenkit-keychain.so", "libtokenkit-keychain.so.1"] {
            try FileManager.default.createSymbolicLink(atPath: folder.path(name), withDestinationPath: library)
        }
    }

    private func compile(_ source: String, to name: String) throws -> String {
        let program = folder.path(name)
        let include = Program.packageRoot.path + "/Sources/CSecKeychain/include"
        let result = try Program.run(
            ["clang", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", include, source, "-L", folder.path]
                + ["-ltokenkit-keychain", "-o", program] + sanitizers())
        try #require(result.status == 0, "\(result)")
        return program
    }

    /// A library that was built with a sanitizer works in programs that have it as well.
    private func sanitizers() throws -> [String] {
        let symbols = try Program.run(["nm", "--dynamic", "--undefined-only", folder.path("libtokenkit-keychain.so")])
        let needed = ["address", "thread"].filter { symbols.text.contains("__\($0.prefix(1))san_init") }
        let flags = needed.map { "-fsanitize=\($0)" }
        return needed == ["thread"] ? flags + (try dispatch()) : flags
    }

    /// What the thread sanitizer of Swift's clang calls.
    private func dispatch() throws -> [String] {
        let description = try Program.run(["swift", "-print-target-info"]).text
        let target = try JSONDecoder().decode(Toolchain.self, from: Data(description.utf8))
        return target.paths.runtimeLibraryPaths.flatMap { ["-L", $0, "-Wl,-rpath,\($0)"] }
            + ["-ldispatch", "-lBlocksRuntime"]
    }

    private struct Toolchain: Decodable {
        struct Paths: Decodable {
            let runtimeLibraryPaths: [String]
        }
        let paths: Paths
    }

    private func run(_ source: String, _ environment: [String: String]? = nil) throws -> ProgramResult {
        let file = folder.path("test.c")
        let text = """
            #include <SecKeychain.h>
            #include <assert.h>
            #include <stdio.h>
            #include <string.h>
            __attribute__((unused)) static SecKeychainRef fresh(const char *path) {
                SecKeychainRef keychain = NULL;
                assert(SecKeychainCreate(path, 4, "open", 0, NULL, &keychain) == errSecSuccess);
                return keychain;
            }
            int main(void) {
            \(source)
                return 0;
            }
            """
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        return try Program.run([compile(file, to: "test")], environment: environment ?? self.environment)
    }

    @Test func theExampleStoresFindsChangesAndDeletesAPassword() throws {
        let made = try run("CFRelease(fresh(\"login\"));")
        #expect(made.status == 0, "\(made)")
        let example = try compile(Program.packageRoot.path + "/Examples/C/password.c", to: "password")
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
                "sqlite3", folder.path("tokenkit/keychains/login.keychain"),
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
            ], environment: environment.merging(["PATH": Program.products + ":/usr/bin:/bin"]) { $1 })
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

    @Test func keychainsAreLockedUnlockedAndDeleted() throws {
        let result = try run(
            """
            SecKeychainRef keychain = fresh("login"), other, copy;
            SecKeychainStatus status;
            assert(SecKeychainGetStatus(NULL, &status) == errSecSuccess && status == 7);
            assert(SecKeychainLock(keychain) == errSecSuccess);
            assert(SecKeychainGetStatus(keychain, &status) == errSecSuccess && status == 6);
            assert(SecKeychainSetUserInteractionAllowed(0) == errSecSuccess);
            Boolean allowed = 1;
            assert(SecKeychainGetUserInteractionAllowed(&allowed) == errSecSuccess && !allowed);
            assert(SecKeychainAddGenericPassword(NULL, 1, "s", 1, "a", 1, "p", NULL) == errSecInteractionNotAllowed);
            assert(SecKeychainUnlock(NULL, 0, NULL, 0) == errSecAuthFailed);
            assert(SecKeychainUnlock(NULL, 5, "wrong", 1) == errSecAuthFailed);
            assert(SecKeychainUnlock(NULL, 4, "open", 1) == errSecSuccess);
            assert(SecKeychainAddGenericPassword(NULL, 1, "s", 1, "a", 1, "p", NULL) == errSecSuccess);
            assert(SecKeychainLockAll() == errSecSuccess);
            assert(SecKeychainGetStatus(NULL, &status) == errSecSuccess && status == 6);

            char path[4096]; uint32_t length = 3;
            assert(SecKeychainGetPath(keychain, &length, path) == errSecBufferTooSmall && length > 3);
            length = sizeof path;
            assert(SecKeychainGetPath(keychain, &length, path) == errSecSuccess && strlen(path) == length);
            assert(SecKeychainCreate(path, 1, "x", 0, NULL, NULL) == errSecDuplicateKeychain);
            other = fresh("other");
            assert(SecKeychainSetDefault(other) == errSecSuccess);
            assert(SecKeychainCopyDefault(&copy) == errSecSuccess);
            length = sizeof path;
            assert(SecKeychainGetPath(copy, &length, path) == errSecSuccess && strstr(path, "other.keychain"));
            assert(SecKeychainDelete(other) == errSecSuccess);
            assert(SecKeychainGetStatus(other, &status) == errSecInvalidKeychain);
            assert(SecKeychainLock(other) == errSecInvalidKeychain);
            assert(SecKeychainUnlock(other, 1, "x", 1) == errSecInvalidKeychain);
            assert(SecKeychainAddGenericPassword(other, 1, "s", 1, "a", 1, "p", NULL) == errSecInvalidKeychain);
            assert(SecKeychainFindGenericPassword(other, 1, "s", 0, NULL, NULL, NULL, NULL) == errSecInvalidKeychain);
            assert(SecKeychainDelete(other) == errSecInvalidKeychain);
            assert(SecKeychainFindGenericPassword(NULL, 1, "s", 0, NULL, NULL, NULL, NULL) == errSecSuccess);
            CFRelease(copy); CFRelease(other); CFRelease(keychain);
            assert(strlen(tokenkit_keychain_message(errSecItemNotFound)) > 0);
            assert(tokenkit_keychain_message(1) == tokenkit_keychain_message(1));
            """)
        #expect(result.status == 0, "\(result)")
    }

    @Test func aKeychainIsUnlockedForEveryProgramOfTheSession() throws {
        let status = """
            SecKeychainRef keychain; SecKeychainStatus status;
            assert(SecKeychainOpen("login", &keychain) == errSecSuccess);
            assert(SecKeychainGetStatus(keychain, &status) == errSecSuccess);
            """
        let unlocked = try run(
            "CFRelease(fresh(\"login\"));\(status) assert(SecKeychainUnlock(NULL, 4, \"open\", 1) == errSecSuccess);")
        #expect(unlocked.status == 0, "\(unlocked)")
        let seen = try run("\(status) assert(status == 7); assert(SecKeychainLock(keychain) == errSecSuccess);")
        #expect(seen.status == 0, "\(seen)")
        let locked = try run("\(status) assert(status == 6);")
        #expect(locked.status == 0, "\(locked)")
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
                ], environment: environment.merging(["PATH": Program.products + ":/usr/bin:/bin"]) { $1 })
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
            environment: environment.merging(["PATH": Program.products + ":/usr/bin:/bin"]) { $1 })
        #expect(listed.text.contains("\"090008\""), "\(listed)")
    }

    @Test func whatIsMissingIsAnErrorAndNoCrash() throws {
        let result = try run(
            """
            SecKeychainItemRef item = NULL;
            assert(SecKeychainOpen(NULL, NULL) == errSecParam);
            assert(SecKeychainCopyDefault(NULL) == errSecParam);
            SecKeychainRef keychain;
            assert(SecKeychainCopyDefault(&keychain) == errSecNoDefaultKeychain);
            assert(SecKeychainAddGenericPassword(NULL, 1, "s", 1, "a", 1, "p", &item) == errSecNoDefaultKeychain);
            assert(item == NULL);
            assert(SecKeychainOpen("none", &keychain) == errSecSuccess);
            assert(SecKeychainUnlock(keychain, 1, "x", 1) == errSecNoSuchKeychain);
            assert(SecKeychainItemDelete(NULL) == errSecInvalidItemRef);
            assert(SecKeychainItemModifyContent(NULL, NULL, 0, NULL) == errSecInvalidItemRef);
            assert(SecKeychainDelete(NULL) == errSecInvalidKeychain);
            assert(SecKeychainSetDefault(NULL) == errSecInvalidKeychain);
            assert(SecKeychainItemDelete((SecKeychainItemRef)keychain) == errSecInvalidItemRef);
            assert(SecKeychainItemCopyContent(NULL, NULL, NULL, NULL, NULL) == errSecInvalidItemRef);
            assert(SecKeychainItemFreeContent(NULL, NULL) == errSecSuccess);
            assert(SecKeychainItemFreeAttributesAndData(NULL, NULL) == errSecSuccess);
            assert(CFRetain(NULL) == NULL);
            CFRelease(NULL);
            CFRelease(keychain);
            """)
        #expect(result.status == 0, "\(result)")
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
            let function = name.prefix { $0 != "@" }
            #expect(header.contains("\(function)("), "\(function) is exported and not declared")
        }
        #expect(names.count > 25)
    }
}
