import TestSupport
import Testing

/// C programs that iterate over items, and keep references to them.
@Suite struct CSearchTests {
    private let stage: CStage

    init() throws { stage = try CStage() }

    @Test func aSearchGivesEachItemOnce() throws {
        let result = try stage.run(
            """
            SecKeychainRef keychain = fresh("login"), other = fresh("other");
            UInt32 length = 1; UInt16 port = 0; (void)port;
            assert(SecKeychainAddGenericPassword(NULL, length, "s", 1, "a", 1, "p", NULL) == noErr);
            assert(SecKeychainAddGenericPassword(NULL, length, "s", 1, "b", 1, "p", NULL) == noErr);
            assert(SecKeychainAddGenericPassword(other, length, "t", 1, "a", 1, "p", NULL) == noErr);
            SecKeychainSearchRef search; SecKeychainItemRef item; int count = 0;
            assert(SecKeychainSearchCreateFromAttributes(NULL, kSecGenericPasswordItemClass, NULL, &search) == noErr);
            for (; SecKeychainSearchCopyNext(search, &item) == noErr; count++) CFRelease(item);
            assert(count == 3 && SecKeychainSearchCopyNext(search, &item) == errSecItemNotFound);
            CFRelease(search);
            SecKeychainAttribute account = {kSecAccountItemAttr, 1, "a"};
            SecKeychainAttributeList list = {1, &account};
            assert(SecKeychainSearchCreateFromAttributes(keychain, kSecGenericPasswordItemClass, &list, &search) == noErr);
            assert(SecKeychainSearchCopyNext(search, &item) == noErr);
            SecKeychainItemRef none;
            assert(SecKeychainSearchCopyNext(search, &none) == errSecItemNotFound);
            assert(SecKeychainSearchCopyNext((SecKeychainSearchRef)item, &none) == errSecInvalidSearchRef);
            assert(SecKeychainSearchCopyNext(NULL, &none) == errSecInvalidSearchRef);
            assert(SecKeychainSearchCopyNext(search, NULL) == errSecParam);
            account.tag = kSecServerItemAttr;
            assert(SecKeychainSearchCreateFromAttributes(NULL, kSecGenericPasswordItemClass, &list, &search)
                   == errSecNoSuchAttr);
            assert(SecKeychainSearchCreateFromAttributes(NULL, 1, NULL, &search) == errSecNoSuchClass);
            CFRelease(item); CFRelease(search); CFRelease(other); CFRelease(keychain);
            """)
        #expect(result.status == 0, "\(result)")
    }

    @Test func aPersistentReferenceNamesTheItem() throws {
        let result = try stage.run(
            """
            SecKeychainRef keychain = fresh("login");
            SecKeychainItemRef item, found; CFDataRef name, copy; void *password; UInt32 length;
            assert(SecKeychainAddGenericPassword(NULL, 1, "s", 1, "a", 1, "p", &item) == noErr);
            assert(SecKeychainItemCreatePersistentReference(item, &name) == noErr);
            copy = CFDataCreate(NULL, CFDataGetBytePtr(name), CFDataGetLength(name));
            assert(copy && CFDataGetLength(copy) == CFDataGetLength(name));
            assert(SecKeychainItemCopyFromPersistentReference(copy, &found) == noErr);
            assert(SecKeychainItemCopyContent(found, NULL, NULL, &length, &password) == noErr && length == 1);
            SecKeychainItemFreeContent(NULL, password);
            assert(SecKeychainItemDelete(found) == noErr);
            CFRelease(found);
            assert(SecKeychainItemCopyFromPersistentReference(copy, &found) == errSecItemNotFound);
            assert(SecKeychainItemCopyFromPersistentReference(NULL, &found) == errSecParam);
            CFDataRef none = CFDataCreate(NULL, NULL, 0);
            assert(none && CFDataGetLength(none) == 0 && !CFDataCreate(NULL, NULL, -1));
            assert(SecKeychainItemCopyFromPersistentReference(none, &found) != noErr);
            CFRelease(none); CFRelease(copy); CFRelease(name); CFRelease(item); CFRelease(keychain);
            """)
        #expect(result.status == 0, "\(result)")
    }
}
