import Foundation
import TestSupport
import Testing

/// Accesses of C programs in a session: which of them read a password without a question. No person can be asked.
@Suite struct CAccessTests {
    private let stage: CStage

    init() throws {
        stage = try CStage()
    }

    /// Functions for programs that add and read passwords of a service.
    private static let functions = """
        __attribute__((unused)) static OSStatus read(const char *service) {
            return SecKeychainFindGenericPassword(NULL, (uint32_t)strlen(service), service, 0, NULL, &(uint32_t){0},
                &(void *){NULL}, NULL);
        }
        __attribute__((unused)) static SecKeychainItemRef find(const char *service) {
            SecKeychainItemRef item = NULL;
            assert(SecKeychainFindGenericPassword(NULL, (uint32_t)strlen(service), service, 0, NULL, NULL, NULL, &item)
                == errSecSuccess);
            return item;
        }
        __attribute__((unused)) static OSStatus add(const char *service, SecAccessRef access) {
            SecKeychainAttribute attribute = {kSecServiceItemAttr, (uint32_t)strlen(service), (void *)service};
            SecKeychainAttributeList list = {1, &attribute};
            return SecKeychainItemCreateFromContent(kSecGenericPasswordItemClass, &list, 1, "p", NULL, access, NULL);
        }
        __attribute__((unused)) static SecTrustedApplicationRef program(const char *path) {
            SecTrustedApplicationRef app = NULL;
            assert(SecTrustedApplicationCreateFromPath(path, &app) == errSecSuccess);
            return app;
        }
        /* Trusts the programs in files. */
        __attribute__((unused)) static SecAccessRef trusting(CFIndex count, const char *const *paths) {
            const void *apps[8];
            for (CFIndex index = 0; index < count; index++) apps[index] = program(paths[index]);
            CFArrayRef list = CFArrayCreate(NULL, apps, count, NULL);
            SecAccessRef access = NULL;
            assert(SecAccessCreate(NULL, list, &access) == errSecSuccess);
            for (CFIndex index = 0; index < count; index++) CFRelease(apps[index]);
            CFRelease(list);
            return access;
        }
        __attribute__((unused)) static SecAccessRef of(SecKeychainItemRef item) {
            SecAccessRef access = NULL;
            assert(SecKeychainItemCopyAccess(item, &access) == errSecSuccess);
            return access;
        }
        /* The entry for reading. */
        __attribute__((unused)) static SecACLRef entry(SecAccessRef access) {
            CFArrayRef list = SecAccessCopyMatchingACLList(access, kSecACLAuthorizationDecrypt);
            assert(CFArrayGetCount(list) == 1);
            SecACLRef acl = (SecACLRef)CFRetain(CFArrayGetValueAtIndex(list, 0));
            CFRelease(list);
            return acl;
        }
        #define silent assert(SecKeychainSetUserInteractionAllowed(0) == errSecSuccess)
        #define refused errSecInteractionNotAllowed
        """

    private func run(_ source: String) throws {
        let result = try stage.run(source, declaring: Self.functions)
        try #require(result.status == 0, "\(result)")
    }

    /// Runs a program of another name.
    private func runOther(_ source: String, as name: String = "other") throws {
        let file = stage.folder.path("\(name).c")
        let text =
            "#include <SecKeychain.h>\n#include <assert.h>\n#include <string.h>\n\(Self.functions)\nint main(void) { silent;\n"
        try "\(text)\(source)\nreturn 0; }\n".write(toFile: file, atomically: true, encoding: .utf8)
        let result = try Program.run([stage.compile(file, to: name)], environment: stage.environment)
        try #require(result.status == 0, "\(result)")
    }

    /// A session's host with the keychain `login`, which `tokenctl` has unlocked.
    private func inSession(_ body: () throws -> Void) throws {
        func tokenctl(_ arguments: String...) throws {
            let shared = stage.environment.merging(["TOKENKIT_HOST": "session"]) { $1 }
            let result = try Program.run([Program.command] + arguments, environment: shared)
            try #require(result.status == 0, "\(result)")
        }
        try tokenctl("host", "start")
        defer { _ = try? Program.run([Program.command, "host", "stop"], environment: stage.environment) }
        try tokenctl("create-keychain", "-p", "open", "login")
        try body()
    }

    @Test func whatTrustsNobodyIsWrittenAndNotRead() throws {
        try inSession {
            try run(
                """
                silent;
                SecAccessRef nobody = trusting(0, NULL);
                assert(add("mail", nobody) == errSecSuccess);
                assert(read("mail") == refused);
                SecKeychainItemRef item = find("mail");
                assert(SecKeychainItemModifyAttributesAndData(item, NULL, 3, "new") == errSecSuccess);
                assert(read("mail") == refused);
                SecAccessRef access = of(item);
                SecACLRef acl = entry(access);
                CFArrayRef apps; CFStringRef text; SecKeychainPromptSelector selector;
                assert(SecACLCopyContents(acl, &apps, &text, &selector) == errSecSuccess);
                assert(apps != NULL && CFArrayGetCount(apps) == 0 && selector == 0);
                /* Its maker trusts itself no more, and is a program like others. */
                SecAccessRef own = NULL;
                assert(SecAccessCreate(NULL, NULL, &own) == errSecSuccess);
                assert(SecKeychainItemSetAccess(item, own) == refused);
                assert(SecKeychainItemSetAccess(item, nobody) == errSecSuccess);
                assert(read("mail") == refused);
                CFRelease(apps); CFRelease(text); CFRelease(acl); CFRelease(access); CFRelease(own);
                CFRelease(nobody); CFRelease(item);
                """)
        }
    }

    @Test func withoutAListTheMakerIsTrustedAlone() throws {
        try inSession {
            try run(
                """
                silent;
                SecAccessRef own = NULL;
                assert(SecAccessCreate(NULL, NULL, &own) == errSecSuccess);
                assert(add("mail", own) == errSecSuccess && add("web", NULL) == errSecSuccess);
                assert(read("mail") == errSecSuccess && read("web") == errSecSuccess);
                CFRelease(own);
                """)
            try runOther(
                """
                assert(read("mail") == refused && read("web") == refused);
                SecKeychainItemRef item = find("mail");
                SecAccessRef access = of(item);
                SecACLRef acl = entry(access);
                CFArrayRef apps; CFDataRef path;
                assert(SecACLCopyContents(acl, &apps, NULL, NULL) == errSecSuccess && CFArrayGetCount(apps) == 1);
                assert(SecTrustedApplicationCopyData((SecTrustedApplicationRef)CFArrayGetValueAtIndex(apps, 0), &path)
                    == errSecSuccess);
                assert(strstr((const char *)CFDataGetBytePtr(path), "/test") != NULL);
                CFRelease(path); CFRelease(apps); CFRelease(acl); CFRelease(access); CFRelease(item);
                """)
        }
    }

    @Test func anotherProgramTakesAndGetsNothing() throws {
        try inSession {
            try run(
                """
                silent;
                OSStatus status = read("mail");
                if (status == errSecItemNotFound) status = add("mail", NULL);
                if (status != errSecSuccess) return status == refused ? 2 : 3;
                """)
            func maker() throws -> Int32 {
                try Program.run([stage.folder.path("test")], environment: stage.environment).status
            }
            try runOther(
                """
                SecKeychainItemRef item = find("mail");
                /* As it is, and for itself, and for all. */
                SecAccessRef access = of(item), own = NULL;
                assert(SecKeychainItemSetAccess(item, access) == errSecSuccess);
                assert(SecAccessCreate(NULL, NULL, &own) == errSecSuccess);
                assert(SecKeychainItemSetAccess(item, own) == refused);
                SecACLRef acl = entry(access);
                assert(SecACLSetContents(acl, NULL, NULL, 0) == errSecSuccess);
                assert(SecKeychainItemSetAccess(item, access) == refused);
                assert(read("mail") == refused);
                CFRelease(acl); CFRelease(own); CFRelease(access);
                """)
            #expect(try maker() == 0)
            // Less needs no person.
            try runOther(
                """
                SecKeychainItemRef item = find("mail");
                SecAccessRef nobody = trusting(0, NULL);
                assert(SecKeychainItemSetAccess(item, nobody) == errSecSuccess);
                CFRelease(nobody); CFRelease(item);
                """)
            #expect(try maker() == 2)
        }
    }

    @Test func aListedProgramReadsAndItsCopyDoesNot() throws {
        try inSession {
            let other = stage.folder.path("other")
            let copy = stage.folder.path("copy")
            let reading = "assert(read(\"mail\") == errSecSuccess && read(\"any\") == errSecSuccess);"
            try runOther("if (read(\"none\") == errSecItemNotFound) return 0; \(reading)")
            try run(
                """
                silent;
                SecAccessRef other = trusting(1, (const char *[]){"\(other)"}), any = trusting(0, NULL), copied = NULL;
                assert(add("mail", other) == errSecSuccess && read("mail") == refused);
                SecACLRef acl = entry(any);
                assert(SecACLSetContents(acl, NULL, NULL, 0) == errSecSuccess);
                assert(add("any", any) == errSecSuccess && read("any") == errSecSuccess);
                copied = of(find("any"));
                CFArrayRef apps;
                SecACLRef found = entry(copied);
                assert(SecACLCopyContents(found, &apps, NULL, NULL) == errSecSuccess && apps == NULL);
                assert(add("none", NULL) == errSecSuccess);
                CFRelease(found); CFRelease(copied); CFRelease(acl); CFRelease(any); CFRelease(other);
                """)
            let read = try Program.run([other], environment: stage.environment)
            #expect(read.status == 0, "\(read)")
            try #require(Program.run(["sh", "-c", "cp \"$0\" \"$1\"; echo >>\"$1\"", other, copy]).status == 0)
            let refused = try Program.run([copy], environment: stage.environment)
            #expect(refused.status != 0, "\(refused)")
            #expect(String(decoding: refused.errors, as: UTF8.self).contains("read(\"mail\") == errSecSuccess"))
        }
    }

    @Test func anItemThatCannotHaveTheAccessIsNotAdded() throws {
        try inSession {
            try run(
                """
                silent;
                SecAccessRef bad = trusting(1, (const char *[]){"/nothing"});
                assert(add("mail", bad) == errSecParam && read("mail") == errSecItemNotFound);
                SecAccessRef script = trusting(1, (const char *[]){"/bin/sh"});
                assert(add("mail", script) == errSecParam && read("mail") == errSecItemNotFound);
                CFRelease(bad); CFRelease(script);
                """)
        }
    }

    @Test func aHostOfOneProgramHasNoAccess() throws {
        try run(
            """
            CFRelease(fresh("login"));
            SecAccessRef nobody = trusting(0, NULL), access;
            assert(add("mail", nobody) == errSecNotAvailable && read("mail") == errSecItemNotFound);
            assert(add("mail", NULL) == errSecSuccess);
            SecKeychainItemRef item = find("mail");
            assert(SecKeychainItemCopyAccess(item, &access) == errSecNotAvailable);
            assert(SecKeychainItemSetAccess(item, nobody) == errSecNotAvailable);
            CFRelease(nobody); CFRelease(item);
            """)
    }

    @Test func entriesAreAsOfMacOS() throws {
        try run(
            """
            CFStringRef name = CFStringCreateWithCString(NULL, "mail", kCFStringEncodingUTF8);
            SecAccessRef access = NULL;
            assert(SecAccessCreate(name, NULL, &access) == errSecSuccess);
            CFArrayRef list, tags, apps; CFStringRef text; SecKeychainPromptSelector selector = 1;
            assert(SecAccessCopyACLList(access, &list) == errSecSuccess && CFArrayGetCount(list) == 3);
            SecACLRef owner = (SecACLRef)CFArrayGetValueAtIndex(list, 0);
            tags = SecACLCopyAuthorizations(owner);
            assert(CFArrayGetCount(tags) == 1 && CFArrayGetValueAtIndex(tags, 0) == kSecACLAuthorizationChangeACL);
            CFRelease(tags);
            assert(SecACLRemove(owner) == errSecInvalidOwnerEdit);
            SecACLRef open = (SecACLRef)CFArrayGetValueAtIndex(list, 1);
            assert(SecACLCopyContents(open, &apps, &text, &selector) == errSecSuccess && apps == NULL && selector == 0);
            assert(strcmp(CFStringGetCStringPtr(text, kCFStringEncodingUTF8), "mail") == 0);
            CFRelease(text);
            SecACLRef restricted = (SecACLRef)CFArrayGetValueAtIndex(list, 2);
            tags = SecACLCopyAuthorizations(restricted);
            assert(CFArrayGetCount(tags) == 6);
            assert(SecACLUpdateAuthorizations(restricted, tags) == errSecSuccess);
            assert(SecACLUpdateAuthorizations(owner, tags) == errSecInvalidOwnerEdit);
            CFRelease(tags);
            /* A string that is equal to a constant is the same authorization; another one is none. */
            CFStringRef same = CFStringCreateWithCString(NULL, "ACLAuthorizationSign", kCFStringEncodingUTF8);
            CFArrayRef one = CFArrayCreate(NULL, (const void *[]){same}, 1, NULL);
            assert(SecACLUpdateAuthorizations(restricted, one) == errSecSuccess);
            assert(SecAccessCopyMatchingACLList(access, kSecACLAuthorizationDecrypt) == NULL);
            assert(SecAccessCopyMatchingACLList(access, name) == NULL);
            CFArrayRef none = CFArrayCreate(NULL, (const void *[]){name}, 1, NULL);
            assert(SecACLUpdateAuthorizations(restricted, none) == errSecParam);
            SecACLRef added = NULL;
            assert(SecACLCreateWithSimpleContents(access, NULL, name, 1, &added) == errSecParam);
            assert(SecACLCreateWithSimpleContents(access, NULL, name, 0, &added) == errSecSuccess);
            CFArrayRef four;
            assert(SecAccessCopyACLList(access, &four) == errSecSuccess && CFArrayGetCount(four) == 4);
            assert(SecACLRemove(added) == errSecSuccess);
            CFRelease(four);
            assert(SecAccessCopyACLList(access, &four) == errSecSuccess && CFArrayGetCount(four) == 3);
            CFRelease(four); CFRelease(added); CFRelease(none); CFRelease(one); CFRelease(same); CFRelease(list);
            CFRelease(access); CFRelease(name);
            CFRelease(kSecACLAuthorizationSign); CFRelease(CFRetain(kSecACLAuthorizationSign));
            """)
    }

    @Test func whatIsSomethingElseIsRefused() throws {
        try run(
            """
            SecTrustedApplicationRef app = program("/usr/bin/true"), none = NULL;
            SecAccessRef access = NULL; CFArrayRef list; CFDataRef data;
            CFTypeRef tag = kSecACLAuthorizationSign;
            assert(SecTrustedApplicationCreateFromPath("", &none) == errSecParam);
            assert(SecTrustedApplicationCreateFromPath("/usr/bin/true", NULL) == errSecParam);
            assert(SecAccessCreate((CFStringRef)(void *)app, NULL, &access) == errSecParam);
            assert(SecAccessCreate(NULL, (CFArrayRef)app, &access) == errSecParam);
            assert(SecAccessCreate(NULL, (CFArrayRef)(void *)tag, &access) == errSecParam);
            CFArrayRef tags = CFArrayCreate(NULL, &tag, 1, NULL);
            assert(SecAccessCreate(NULL, tags, &access) == errSecParam && access == NULL);
            assert(SecAccessCopyACLList(NULL, &list) == errSecParam);
            assert(SecAccessCopyACLList((SecAccessRef)app, &list) == errSecParam);
            assert(SecAccessCopyMatchingACLList(NULL, tag) == NULL && SecACLCopyAuthorizations(NULL) == NULL);
            assert(SecACLSetContents((SecACLRef)app, NULL, NULL, 0) == errSecParam && SecACLRemove(NULL) == errSecParam);
            assert(SecKeychainItemSetAccess(NULL, NULL) == errSecInvalidItemRef);
            assert(SecKeychainItemCopyAccess((SecKeychainItemRef)(void *)tag, &access) == errSecInvalidItemRef);
            assert(SecKeychainLock((SecKeychainRef)(void *)tag) == errSecInvalidKeychain);
            assert(SecTrustedApplicationCopyData(app, &data) == errSecSuccess);
            assert(strcmp((const char *)CFDataGetBytePtr(data), "/usr/bin/true") == 0);
            assert(CFArrayGetValueAtIndex(tags, 1) == NULL && CFArrayGetValueAtIndex(tags, -1) == NULL);
            assert(CFArrayCreate(NULL, (const void *[]){NULL}, 1, NULL) == NULL && CFArrayCreate(NULL, NULL, 1, NULL) == NULL);
            CFRelease(data); CFRelease(tags); CFRelease(app);
            """)
    }
}
