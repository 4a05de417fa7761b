import Foundation
import TestSupport
import Testing

/// C programs that make, lock and delete keychains.
@Suite struct CKeychainTests {
    private let stage: CStage

    init() throws { stage = try CStage() }

    @Test func keychainsAreLockedUnlockedAndDeleted() throws {
        let result = try stage.run(
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
        let started = try Program.run([Program.command, "host", "start"], environment: stage.environment)
        try #require(started.status == 0, "\(started)")
        defer { _ = try? Program.run([Program.command, "host", "stop"], environment: stage.environment) }
        let status = """
            SecKeychainRef keychain; SecKeychainStatus status;
            assert(SecKeychainOpen("login", &keychain) == errSecSuccess);
            assert(SecKeychainGetStatus(keychain, &status) == errSecSuccess);
            """
        let unlocked = try stage.run(
            "CFRelease(fresh(\"login\"));\(status) assert(SecKeychainUnlock(NULL, 4, \"open\", 1) == errSecSuccess);")
        #expect(unlocked.status == 0, "\(unlocked)")
        let seen = try stage.run("\(status) assert(status == 7); assert(SecKeychainLock(keychain) == errSecSuccess);")
        #expect(seen.status == 0, "\(seen)")
        let locked = try stage.run("\(status) assert(status == 6);")
        #expect(locked.status == 0, "\(locked)")
    }

    @Test func whatIsMissingIsAnErrorAndNoCrash() throws {
        let result = try stage.run(
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
}
