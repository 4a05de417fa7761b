/*
 * Stores, finds, changes and deletes a password.
 *
 *     cc password.c $(pkg-config --cflags --libs tokenkit-keychain) -o password
 *     ./password KEYCHAIN PASSWORD-OF-THE-KEYCHAIN
 */
#include <SecKeychain.h>
#include <stdio.h>
#include <string.h>

static int check(const char *what, OSStatus status)
{
    if (status == errSecSuccess)
        return 1;
    fprintf(stderr, "%s: %s (%d)\n", what, tokenkit_keychain_message(status), (int)status);
    return 0;
}

static void show(SecKeychainRef keychain, const char *service, const char *account)
{
    uint32_t length;
    void *password;
    if (!check("find", SecKeychainFindGenericPassword(keychain, strlen(service), service, strlen(account), account,
                                                      &length, &password, NULL)))
        return;
    printf("%s at %s: %.*s\n", account, service, (int)length, (const char *)password);
    SecKeychainItemFreeContent(NULL, password);
}

int main(int argc, char **argv)
{
    const char *service = "mail.example.com", *account = "jo";
    SecKeychainRef keychain;
    SecKeychainItemRef item;

    if (argc != 3) {
        fprintf(stderr, "usage: %s KEYCHAIN PASSWORD\n", argv[0]);
        return 2;
    }
    if (!check("open", SecKeychainOpen(argv[1], &keychain)))
        return 1;
    if (!check("unlock", SecKeychainUnlock(keychain, strlen(argv[2]), argv[2], 1)))
        return 1;

    if (!check("add", SecKeychainAddGenericPassword(keychain, strlen(service), service, strlen(account), account, 7,
                                                    "hunter2", &item)))
        return 1;
    show(keychain, service, account);

    if (!check("change", SecKeychainItemModifyAttributesAndData(item, NULL, 13, "correct horse")))
        return 1;
    show(keychain, service, account);

    if (!check("delete", SecKeychainItemDelete(item)))
        return 1;
    CFRelease(item);
    show(keychain, service, account);

    SecKeychainLock(keychain);
    CFRelease(keychain);
    return 0;
}
