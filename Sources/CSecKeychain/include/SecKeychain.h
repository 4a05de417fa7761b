/*
 * The keychain for C: passwords by the functions and names of Apple's SecKeychain.h.
 *
 *     cc program.c $(pkg-config --cflags --libs tokenkit-keychain)
 *
 * Strings are UTF-8 with their lengths in bytes; they need no final zero, and NULL has the length 0. Every function may be called from any thread.
 * A reference that a function returns belongs to the caller, who frees it with CFRelease. NULL for a keychain means the default one
 * where an item is added, and the whole search list where one is looked for.
 *
 * The library needs libc alone, and starts no thread. A child by fork may use it, and has a host of its own.
 */
#ifndef TOKENKIT_SECKEYCHAIN_H
#define TOKENKIT_SECKEYCHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t OSStatus;
typedef uint32_t FourCharCode;
typedef unsigned char Boolean;
#ifndef __swift__ /* Swift has them itself. */
typedef uint16_t UInt16;
typedef uint32_t UInt32;
#endif

typedef const void *CFTypeRef;
typedef long CFIndex;
typedef struct OpaqueSecKeychainRef *SecKeychainRef;
typedef struct OpaqueSecKeychainItemRef *SecKeychainItemRef;
typedef struct OpaqueSecKeychainSearchRef *SecKeychainSearchRef;
typedef struct OpaqueSecAccessRef *SecAccessRef;
typedef struct OpaqueSecACLRef *SecACLRef;
typedef struct OpaqueSecTrustedApplicationRef *SecTrustedApplicationRef;
/* Bytes, for persistent references. */
typedef struct OpaqueTokenkitDataRef *CFDataRef;
/* References and strings, for accesses. */
typedef struct OpaqueTokenkitArrayRef *CFArrayRef;
typedef const struct OpaqueTokenkitStringRef *CFStringRef;

typedef FourCharCode SecItemClass;
typedef FourCharCode SecProtocolType;
typedef FourCharCode SecAuthenticationType;
typedef FourCharCode SecKeychainAttrType;
typedef uint32_t SecKeychainStatus;
typedef uint16_t SecKeychainPromptSelector;

enum {
    kSecInternetPasswordItemClass = 0x696E6574, /* inet */
    kSecGenericPasswordItemClass = 0x67656E70,  /* genp */
};

enum {
    kSecCreationDateItemAttr = 0x63646174,     /* cdat: YYYYMMDDhhmmssZ and a zero */
    kSecModDateItemAttr = 0x6D646174,          /* mdat: the same */
    kSecDescriptionItemAttr = 0x64657363,      /* desc */
    kSecCommentItemAttr = 0x69636D74,          /* icmt */
    kSecCreatorItemAttr = 0x63727472,          /* crtr: four characters, as a uint32_t */
    kSecTypeItemAttr = 0x74797065,             /* type: four characters, as a uint32_t */
    kSecLabelItemAttr = 0x6C61626C,            /* labl */
    kSecAccountItemAttr = 0x61636374,          /* acct */
    kSecServiceItemAttr = 0x73766365,          /* svce */
    kSecGenericItemAttr = 0x67656E61,          /* gena */
    kSecSecurityDomainItemAttr = 0x73646D6E,   /* sdmn */
    kSecServerItemAttr = 0x73727672,           /* srvr */
    kSecAuthenticationTypeItemAttr = 0x61747970, /* atyp: a SecAuthenticationType */
    kSecPortItemAttr = 0x706F7274,             /* port: a uint32_t */
    kSecPathItemAttr = 0x70617468,             /* path */
    kSecProtocolItemAttr = 0x7074636C,         /* ptcl: a SecProtocolType */
};

enum {
    kSecProtocolTypeAny = 0,
    kSecProtocolTypeFTP = 0x66747020,
    kSecProtocolTypeFTPAccount = 0x66747061,
    kSecProtocolTypeHTTP = 0x68747470,
    kSecProtocolTypeIRC = 0x69726320,
    kSecProtocolTypeNNTP = 0x6E6E7470,
    kSecProtocolTypePOP3 = 0x706F7033,
    kSecProtocolTypeSMTP = 0x736D7470,
    kSecProtocolTypeSOCKS = 0x736F7820,
    kSecProtocolTypeIMAP = 0x696D6170,
    kSecProtocolTypeLDAP = 0x6C646170,
    kSecProtocolTypeAppleTalk = 0x61746C6B,
    kSecProtocolTypeAFP = 0x61667020,
    kSecProtocolTypeTelnet = 0x74656C6E,
    kSecProtocolTypeSSH = 0x73736820,
    kSecProtocolTypeFTPS = 0x66747073,
    kSecProtocolTypeHTTPS = 0x68747073,
    kSecProtocolTypeHTTPProxy = 0x68747078,
    kSecProtocolTypeHTTPSProxy = 0x68747378,
    kSecProtocolTypeFTPProxy = 0x66747078,
    kSecProtocolTypeSMB = 0x736D6220,
    kSecProtocolTypeRTSP = 0x72747370,
    kSecProtocolTypeRTSPProxy = 0x72747378,
    kSecProtocolTypeDAAP = 0x64616170,
    kSecProtocolTypeEPPC = 0x65707063,
    kSecProtocolTypeIPP = 0x69707020,
    kSecProtocolTypeNNTPS = 0x6E747073,
    kSecProtocolTypeLDAPS = 0x6C647073,
    kSecProtocolTypeTelnetS = 0x74656C73,
    kSecProtocolTypeIMAPS = 0x696D7073,
    kSecProtocolTypeIRCS = 0x69726373,
    kSecProtocolTypePOP3S = 0x706F7073,
};

enum {
    kSecAuthenticationTypeAny = 0,
    kSecAuthenticationTypeNTLM = 0x6E746C6D,
    kSecAuthenticationTypeMSN = 0x6D736E61,
    kSecAuthenticationTypeDPA = 0x64706161,
    kSecAuthenticationTypeRPA = 0x72706161,
    kSecAuthenticationTypeHTTPBasic = 0x68747470,
    kSecAuthenticationTypeHTTPDigest = 0x68747464,
    kSecAuthenticationTypeHTMLForm = 0x666F726D,
    kSecAuthenticationTypeDefault = 0x64666C74,
};

enum {
    kSecUnlockStateStatus = 1,
    kSecReadPermStatus = 2,
    kSecWritePermStatus = 4,
};

enum {
    noErr = 0,
    errSecSuccess = 0,
    errSecUnimplemented = -4,
    errSecDiskFull = -34,
    errSecIO = -36,
    errSecParam = -50,
    errSecWrPerm = -61,
    errSecAllocate = -108,
    errSecUserCanceled = -128,
    errSecRestrictedAPI = -34020,
    errSecMissingEntitlement = -34018,
    errSecInvalidOwnerEdit = -25244,
    errSecNotAvailable = -25291,
    errSecReadOnly = -25292,
    errSecAuthFailed = -25293,
    errSecNoSuchKeychain = -25294,
    errSecInvalidKeychain = -25295,
    errSecDuplicateKeychain = -25296,
    errSecDuplicateItem = -25299,
    errSecItemNotFound = -25300,
    errSecBufferTooSmall = -25301,
    errSecDataTooLarge = -25302,
    errSecNoSuchAttr = -25303,
    errSecInvalidItemRef = -25304,
    errSecInvalidSearchRef = -25305,
    errSecNoSuchClass = -25306,
    errSecNoDefaultKeychain = -25307,
    errSecInteractionNotAllowed = -25308,
    errSecDataNotAvailable = -25316,
    errSecDecode = -26275,
    errSecInternal = -26276,
};

/* One attribute of an item; `data` is not zero-terminated. */
typedef struct SecKeychainAttribute {
    SecKeychainAttrType tag;
    uint32_t length;
    void *data;
} SecKeychainAttribute;

typedef struct SecKeychainAttributeList {
    uint32_t count;
    SecKeychainAttribute *attr;
} SecKeychainAttributeList;

/* The tags of the attributes that are wanted; `format` may be NULL. */
typedef struct SecKeychainAttributeInfo {
    uint32_t count;
    uint32_t *tag;
    uint32_t *format;
} SecKeychainAttributeInfo;

/* Passwords of programs. */

OSStatus SecKeychainAddGenericPassword(SecKeychainRef keychain, uint32_t serviceNameLength, const char *serviceName,
                                       uint32_t accountNameLength, const char *accountName, uint32_t passwordLength,
                                       const void *passwordData, SecKeychainItemRef *itemRef);

/*
 * A service or account that is NULL or has no length matches any; an item that synchronizes is found where no other
 * matches. The caller frees the password, if it is asked for, with SecKeychainItemFreeContent. A person is asked for what
 * the item's access control requires. The error of a failing keychain or of a damaged password is returned only where no
 * other item matches.
 */
OSStatus SecKeychainFindGenericPassword(CFTypeRef keychainOrArray, uint32_t serviceNameLength, const char *serviceName,
                                        uint32_t accountNameLength, const char *accountName, uint32_t *passwordLength,
                                        void **passwordData, SecKeychainItemRef *itemRef);

/*
 * Passwords of servers. A port of 0, and the protocol and type Any, match any; so does a string that is NULL or has no
 * length.
 */

OSStatus SecKeychainAddInternetPassword(SecKeychainRef keychain, uint32_t serverNameLength, const char *serverName,
                                        uint32_t securityDomainLength, const char *securityDomain,
                                        uint32_t accountNameLength, const char *accountName, uint32_t pathLength,
                                        const char *path, uint16_t port, SecProtocolType protocol,
                                        SecAuthenticationType authenticationType, uint32_t passwordLength,
                                        const void *passwordData, SecKeychainItemRef *itemRef);

OSStatus SecKeychainFindInternetPassword(CFTypeRef keychainOrArray, uint32_t serverNameLength, const char *serverName,
                                         uint32_t securityDomainLength, const char *securityDomain,
                                         uint32_t accountNameLength, const char *accountName, uint32_t pathLength,
                                         const char *path, uint16_t port, SecProtocolType protocol,
                                         SecAuthenticationType authenticationType, uint32_t *passwordLength,
                                         void **passwordData, SecKeychainItemRef *itemRef);

/* Items. */

/*
 * Adds an item with the listed attributes; without a password if `data` is NULL. `initialAccess` is a SecAccessRef; where it is
 * NULL, the program itself may read the password without a question, and no other. An item that cannot have the access is not added.
 */
OSStatus SecKeychainItemCreateFromContent(SecItemClass itemClass, SecKeychainAttributeList *attrList, uint32_t length,
                                          const void *data, SecKeychainRef keychainRef, const void *initialAccess,
                                          SecKeychainItemRef *itemRef);

/* Adds a copy of the item to another keychain. */
OSStatus SecKeychainItemCreateCopy(SecKeychainItemRef itemRef, SecKeychainRef destKeychainRef, const void *initialAccess,
                                   SecKeychainItemRef *itemCopy);

/* Changes the listed attributes, and the password unless `data` is NULL. `attrList` may be NULL as well. */
OSStatus SecKeychainItemModifyAttributesAndData(SecKeychainItemRef itemRef, const SecKeychainAttributeList *attrList,
                                                uint32_t length, const void *data);
OSStatus SecKeychainItemModifyContent(SecKeychainItemRef itemRef, const SecKeychainAttributeList *attrList,
                                      uint32_t length, const void *data);

/* Fills in the attributes whose tags `attrList` has. The caller frees them and the data with SecKeychainItemFreeContent. */
OSStatus SecKeychainItemCopyContent(SecKeychainItemRef itemRef, SecItemClass *itemClass,
                                    SecKeychainAttributeList *attrList, uint32_t *length, void **outData);
OSStatus SecKeychainItemFreeContent(SecKeychainAttributeList *attrList, void *data);

/* Makes a list of the attributes that `info` names. The caller frees it with SecKeychainItemFreeAttributesAndData. */
OSStatus SecKeychainItemCopyAttributesAndData(SecKeychainItemRef itemRef, SecKeychainAttributeInfo *info,
                                              SecItemClass *itemClass, SecKeychainAttributeList **attrList,
                                              uint32_t *length, void **outData);
OSStatus SecKeychainItemFreeAttributesAndData(SecKeychainAttributeList *attrList, void *data);

OSStatus SecKeychainItemDelete(SecKeychainItemRef itemRef);
OSStatus SecKeychainItemCopyKeychain(SecKeychainItemRef itemRef, SecKeychainRef *keychainRef);

/* Searches. */

/*
 * Searches the passwords of the class that have the attributes of `attrList` now; all of them where it is NULL. The caller
 * frees the search with CFRelease.
 */
OSStatus SecKeychainSearchCreateFromAttributes(CFTypeRef keychainOrArray, SecItemClass itemClass,
                                               const SecKeychainAttributeList *attrList, SecKeychainSearchRef *searchRef);
/* The next item of the search; errSecItemNotFound after the last. */
OSStatus SecKeychainSearchCopyNext(SecKeychainSearchRef searchRef, SecKeychainItemRef *itemRef);

/* The item's persistent reference, and the item of one, which a keychain of the search list must have. */
OSStatus SecKeychainItemCreatePersistentReference(SecKeychainItemRef itemRef, CFDataRef *persistentItemRef);
OSStatus SecKeychainItemCopyFromPersistentReference(CFDataRef persistentItemRef, SecKeychainItemRef *itemRef);

/*
 * Accesses: which programs may read a password without a question.
 *
 * The host decides, and asks a person about each other program. It tells programs by where their files are, if only root can change
 * them, else by their content. A program that has given the keychain's password itself is not asked. A host that serves one program
 * alone asks about none, and fails these functions of items with errSecNotAvailable; errSecParam is for an item of a keychain without a
 * password, which each program may read.
 *
 * An access is changed by one thread at a time.
 */

/*
 * The authorizations of an entry. A program that an entry with Decrypt or Any lists may read the password without a question. The others
 * have no effect: each program may write and delete the item (Encrypt, Delete, KeychainItem...), a person is asked before an access is
 * widened (ChangeACL, ChangeOwner), and the rest is not for passwords.
 */
extern const CFStringRef kSecACLAuthorizationAny;
extern const CFStringRef kSecACLAuthorizationLogin;
extern const CFStringRef kSecACLAuthorizationGenKey;
extern const CFStringRef kSecACLAuthorizationDelete;
extern const CFStringRef kSecACLAuthorizationExportWrapped;
extern const CFStringRef kSecACLAuthorizationExportClear;
extern const CFStringRef kSecACLAuthorizationImportWrapped;
extern const CFStringRef kSecACLAuthorizationImportClear;
extern const CFStringRef kSecACLAuthorizationSign;
extern const CFStringRef kSecACLAuthorizationEncrypt;
extern const CFStringRef kSecACLAuthorizationDecrypt;
extern const CFStringRef kSecACLAuthorizationMAC;
extern const CFStringRef kSecACLAuthorizationDerive;
extern const CFStringRef kSecACLAuthorizationKeychainCreate;
extern const CFStringRef kSecACLAuthorizationKeychainDelete;
extern const CFStringRef kSecACLAuthorizationKeychainItemRead;
extern const CFStringRef kSecACLAuthorizationKeychainItemInsert;
extern const CFStringRef kSecACLAuthorizationKeychainItemModify;
extern const CFStringRef kSecACLAuthorizationKeychainItemDelete;
extern const CFStringRef kSecACLAuthorizationChangeACL;
extern const CFStringRef kSecACLAuthorizationChangeOwner;
extern const CFStringRef kSecACLAuthorizationPartitionID;
extern const CFStringRef kSecACLAuthorizationIntegrity;

/* The program in a file; the calling one for NULL. The host looks at the file when an item is given the access: a path that is no
 * program then, or an interpreter, fails that call with errSecParam. */
OSStatus SecTrustedApplicationCreateFromPath(const char *path, SecTrustedApplicationRef *app);
/* The path of the program's file, with a final zero. */
OSStatus SecTrustedApplicationCopyData(SecTrustedApplicationRef appRef, CFDataRef *data);

/* An access by which the listed programs read without a question: none for an empty list, the calling one for NULL. */
OSStatus SecAccessCreate(CFStringRef descriptor, CFArrayRef trustedlist, SecAccessRef *accessRef);
/* The entries, of type SecACLRef. What is changed in one is changed in the access. */
OSStatus SecAccessCopyACLList(SecAccessRef accessRef, CFArrayRef *aclList);
/* The entries that have the authorization; NULL where there is none. */
CFArrayRef SecAccessCopyMatchingACLList(SecAccessRef accessRef, CFTypeRef authorizationTag);

/* Adds an entry for each authorization. A list that is NULL stands for any program, here and below. `promptSelector` has to be 0
 * (errSecParam): there is one kind of question. */
OSStatus SecACLCreateWithSimpleContents(SecAccessRef access, CFArrayRef applicationList, CFStringRef description,
                                        SecKeychainPromptSelector promptSelector, SecACLRef *newAcl);
/* Fails with errSecInvalidOwnerEdit for the entry with ChangeACL. */
OSStatus SecACLRemove(SecACLRef aclRef);
OSStatus SecACLCopyContents(SecACLRef acl, CFArrayRef *applicationList, CFStringRef *description,
                            SecKeychainPromptSelector *promptSelector);
OSStatus SecACLSetContents(SecACLRef acl, CFArrayRef applicationList, CFStringRef description,
                           SecKeychainPromptSelector promptSelector);
CFArrayRef SecACLCopyAuthorizations(SecACLRef acl);
OSStatus SecACLUpdateAuthorizations(SecACLRef acl, CFArrayRef authorizations);

/* The keychain has to be unlocked: who may read an item is sealed with it (errSecInteractionNotAllowed). */
OSStatus SecKeychainItemCopyAccess(SecKeychainItemRef itemRef, SecAccessRef *access);
/*
 * Puts the access in the place of the one before, as a whole. A person has to agree to each program that could not read the item before,
 * unless this program has made the item and still trusts itself. A program that a person has denied the item stays denied.
 */
OSStatus SecKeychainItemSetAccess(SecKeychainItemRef itemRef, SecAccessRef access);

/* Keychains. */

/* A name without a slash is a keychain in the user's folder for them. Nothing is read before the keychain is used. */
OSStatus SecKeychainOpen(const char *pathName, SecKeychainRef *keychain);
/* A keychain itself has no access: an `initialAccess` that is not NULL is refused (errSecUnimplemented). */
OSStatus SecKeychainCreate(const char *pathName, uint32_t passwordLength, const void *password, Boolean promptUser,
                           const void *initialAccess, SecKeychainRef *keychain);
OSStatus SecKeychainDelete(SecKeychainRef keychainOrNull);
OSStatus SecKeychainCopyDefault(SecKeychainRef *keychain);
OSStatus SecKeychainSetDefault(SecKeychainRef keychain);
/* Locks for every program of the login session. */
OSStatus SecKeychainLock(SecKeychainRef keychain);
OSStatus SecKeychainLockAll(void);

/*
 * Unlocks for every program of the login session. Without `usePassword` the password is asked for; where nobody may be asked
 * the code is errSecAuthFailed.
 */
OSStatus SecKeychainUnlock(SecKeychainRef keychain, uint32_t passwordLength, const void *password,
                           Boolean usePassword);
/* A keychain is unlocked while the login session has its key, whichever program unlocked it. */
OSStatus SecKeychainGetStatus(SecKeychainRef keychain, SecKeychainStatus *status);

/* The path with a final zero. `ioPathLength` is the size of the buffer, and receives the path's length without the zero, also
 * with errSecBufferTooSmall. */
OSStatus SecKeychainGetPath(SecKeychainRef keychain, uint32_t *ioPathLength, char *pathName);

/* Whether this process may ask for PINs and passwords. By default it may. */
OSStatus SecKeychainSetUserInteractionAllowed(Boolean state);
OSStatus SecKeychainGetUserInteractionAllowed(Boolean *state);

/* The message of a code, with a final zero. It must not be freed. */
const char *tokenkit_keychain_message(OSStatus status);

/* References. The functions have names of their own, because other libraries export functions named CFRelease. */
CFTypeRef tokenkit_keychain_retain(CFTypeRef reference);
void tokenkit_keychain_release(CFTypeRef reference);
/* A copy of bytes, which the caller frees with CFRelease; NULL for a negative length. */
CFDataRef tokenkit_keychain_data(const uint8_t *bytes, CFIndex length);
const uint8_t *tokenkit_keychain_data_bytes(CFDataRef data);
CFIndex tokenkit_keychain_data_length(CFDataRef data);
/* A copy of text with a final zero. */
CFStringRef tokenkit_keychain_string(const char *text);
/* The text, which lasts as long as the string. */
const char *tokenkit_keychain_string_text(CFStringRef string);
/* An array that keeps the references, none of which may be NULL. */
CFArrayRef tokenkit_keychain_array(const void *const *values, CFIndex count);
CFIndex tokenkit_keychain_array_count(CFArrayRef array);
/* A reference that the array keeps; NULL outside its count. */
const void *tokenkit_keychain_array_value(CFArrayRef array, CFIndex index);

#ifndef TOKENKIT_NO_COREFOUNDATION_NAMES
static inline CFTypeRef CFRetain(CFTypeRef reference) { return tokenkit_keychain_retain(reference); }
static inline void CFRelease(CFTypeRef reference) { tokenkit_keychain_release(reference); }
static inline CFDataRef CFDataCreate(const void *allocator, const uint8_t *bytes, CFIndex length) {
    (void)allocator;
    return tokenkit_keychain_data(bytes, length);
}
static inline const uint8_t *CFDataGetBytePtr(CFDataRef data) { return tokenkit_keychain_data_bytes(data); }
static inline CFIndex CFDataGetLength(CFDataRef data) { return tokenkit_keychain_data_length(data); }
/* The callbacks of an array are not called: it keeps references. */
static inline CFArrayRef CFArrayCreate(const void *allocator, const void **values, CFIndex count, const void *callbacks) {
    (void)allocator;
    (void)callbacks;
    return tokenkit_keychain_array((const void *const *)values, count);
}
static inline CFIndex CFArrayGetCount(CFArrayRef array) { return tokenkit_keychain_array_count(array); }
static inline const void *CFArrayGetValueAtIndex(CFArrayRef array, CFIndex index) {
    return tokenkit_keychain_array_value(array, index);
}
#define kCFStringEncodingUTF8 0x08000100u
static inline CFStringRef CFStringCreateWithCString(const void *allocator, const char *text, uint32_t encoding) {
    (void)allocator;
    return encoding == kCFStringEncodingUTF8 ? tokenkit_keychain_string(text) : NULL;
}
static inline const char *CFStringGetCStringPtr(CFStringRef string, uint32_t encoding) {
    return encoding == kCFStringEncodingUTF8 ? tokenkit_keychain_string_text(string) : NULL;
}
#endif

#ifdef __cplusplus
}
#endif

#endif
