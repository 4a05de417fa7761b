/* The names and messages of result codes, as KeychainModel/Errors/ErrSecNames.swift has them: a test compares the two. */
#include "SecKeychain.h"
#include "messages.h"

#include <stdatomic.h>
#include <stdio.h>

static const struct row {
    int32_t code;
    const char *name, *message;
} rows[] = {
    {0, "errSecSuccess", "no error"},
    {-4, "errSecUnimplemented", "this system has no such function"},
    {-34, "errSecDiskFull", "the disk is full"},
    {-36, "errSecIO", "reading or writing failed"},
    {-49, "errSecOpWr", "the file is already open for writing"},
    {-50, "errSecParam", "a parameter is not valid"},
    {-61, "errSecWrPerm", "writing is not permitted"},
    {-108, "errSecAllocate", "out of memory"},
    {-128, "errSecUserCanceled", "cancelled by the user"},
    {-909, "errSecBadReq", "the request is not valid in this state"},
    {-2070, "errSecInternalComponent", "an internal component failed"},
    {-34018, "errSecMissingEntitlement", "the access group is not open to this program"},
    {-34020, "errSecRestrictedAPI", "this is not open to this program"},
    {-25240, "errSecACLNotSimple", "the access control list is not a simple one"},
    {-25241, "errSecPolicyNotFound", "there is no such policy"},
    {-25242, "errSecInvalidTrustSetting", "a trust setting is not valid"},
    {-25243, "errSecNoAccessForItem", "the item has no access control"},
    {-25244, "errSecInvalidOwnerEdit", "only the owner may change this"},
    {-25245, "errSecTrustNotAvailable", "no trust result is available"},
    {-25256, "errSecUnsupportedFormat", "the format is not supported"},
    {-25257, "errSecUnknownFormat", "the format is not known"},
    {-25258, "errSecKeyIsSensitive", "the key must be wrapped to be exported"},
    {-25259, "errSecMultiplePrivKeys", "there is more than one private key"},
    {-25260, "errSecPassphraseRequired", "a passphrase is required"},
    {-25261, "errSecInvalidPasswordRef", "the password reference is not valid"},
    {-25262, "errSecInvalidTrustSettings", "the trust settings are damaged"},
    {-25263, "errSecNoTrustSettings", "there are no trust settings"},
    {-25264, "errSecPkcs12VerifyFailure", "wrong passphrase, or the PKCS #12 file is damaged"},
    {-26267, "errSecNotSigner", "the certificate did not sign this"},
    {-26275, "errSecDecode", "the data cannot be decoded"},
    {-26276, "errSecInternal", "an internal error occurred"},
    {-25291, "errSecNotAvailable", "the keychain is not available"},
    {-25292, "errSecReadOnly", "the keychain is read-only"},
    {-25293, "errSecAuthFailed", "the password or PIN is wrong"},
    {-25294, "errSecNoSuchKeychain", "there is no such keychain"},
    {-25295, "errSecInvalidKeychain", "this is not a valid keychain"},
    {-25296, "errSecDuplicateKeychain", "a keychain of that name already exists"},
    {-25297, "errSecDuplicateCallback", "the callback is already registered"},
    {-25298, "errSecInvalidCallback", "the callback is not registered"},
    {-25299, "errSecDuplicateItem", "the item already exists"},
    {-25300, "errSecItemNotFound", "no item matches"},
    {-25301, "errSecBufferTooSmall", "the buffer is too small"},
    {-25302, "errSecDataTooLarge", "the data is too large"},
    {-25303, "errSecNoSuchAttr", "the class has no such attribute"},
    {-25304, "errSecInvalidItemRef", "the item reference is not valid"},
    {-25305, "errSecInvalidSearchRef", "the search reference is not valid"},
    {-25306, "errSecNoSuchClass", "there is no such item class"},
    {-25307, "errSecNoDefaultKeychain", "there is no default keychain"},
    {-25308, "errSecInteractionNotAllowed", "this needs a password or PIN, and asking is not allowed"},
    {-25309, "errSecReadOnlyAttr", "the attribute cannot be changed"},
    {-25310, "errSecWrongSecVersion", "the keychain has another version"},
    {-25311, "errSecKeySizeNotAllowed", "the key size is not allowed"},
    {-25312, "errSecNoStorageModule", "there is no storage module"},
    {-25313, "errSecNoCertificateModule", "there is no certificate module"},
    {-25314, "errSecNoPolicyModule", "there is no policy module"},
    {-25315, "errSecInteractionRequired", "this needs an action of the user"},
    {-25316, "errSecDataNotAvailable", "the data cannot be read out"},
    {-25317, "errSecDataNotModifiable", "the data cannot be changed"},
    {-25318, "errSecCreateChainFailed", "no certificate chain could be built"},
    {-25319, "errSecInvalidPrefsDomain", "the preference domain is not valid for this"},
    {-25320, "errSecInDarkWake", "the screen is off, and nobody can be asked"},
    {-25330, "errSecAuthNeeded", "authentication is needed"},
    {-67585, "errSecServiceNotAvailable", "the service is not available"},
    {-67587, "errSecDeviceReset", "the card was removed or reset"},
    {-67588, "errSecDeviceFailed", "the reader or card failed"},
    {-67671, "errSecInternalError", "an internal error of the cryptographic module occurred"},
    {-67688, "errSecInvalidSignature", "the signature is not valid"},
    {-67694, "errSecInvalidValue", "a value is not valid"},
    {-67727, "errSecDeviceError", "the card reported an error"},
    {-67729, "errSecNotLoggedIn", "the PIN has not been verified"},
    {-67730, "errSecAlgorithmMismatch", "the algorithm does not fit the key"},
    {-67731, "errSecKeyUsageIncorrect", "the key may not be used for this"},
    {-67735, "errSecUnsupportedKeySize", "the key size is not supported"},
    {-67747, "errSecInvalidAlgorithm", "the algorithm is not known"},
    {-67808, "errSecVerifyFailed", "verification failed"},
    {-67818, "errSecCertificateExpired", "the certificate has expired"},
    {-67819, "errSecCertificateNotValidYet", "the certificate is not valid yet"},
    {-67820, "errSecCertificateRevoked", "the certificate was revoked"},
    {-67602, "errSecHostNameMismatch", "the certificate is not for this host"},
    {-67843, "errSecNotTrusted", "the certificate is not trusted"},
};

static const struct row *row_of(OSStatus code) {
    for (size_t index = 0; index < sizeof rows / sizeof *rows; index++) {
        if (rows[index].code == code) return &rows[index];
    }
    return NULL;
}

const char *tokenkit_code_name(OSStatus code) {
    const struct row *row = row_of(code);
    return row != NULL ? row->name : NULL;
}

/* The texts of codes without a name, which programs may keep. Each place is claimed once, by storing its code with a mark beside it. */
enum { places = 64, longest_text = 24 };
static struct {
    _Atomic uint64_t claim;
    _Atomic int is_written;
    char text[longest_text];
} unnamed[places];

const char *tokenkit_keychain_message(OSStatus code) {
    const struct row *row = row_of(code);
    if (row != NULL) return row->message;
    const uint64_t claim = (uint64_t)1 << 32 | (uint32_t)code;
    for (int index = 0; index < places; index++) {
        uint64_t found = 0;
        if (atomic_compare_exchange_strong(&unnamed[index].claim, &found, claim)) {
            snprintf(unnamed[index].text, longest_text, "error %d", (int)code);
            unnamed[index].is_written = 1;
            return unnamed[index].text;
        }
        /* Another thread may be writing the text: the next place then has it as well. */
        if (found == claim && unnamed[index].is_written) return unnamed[index].text;
    }
    return "an error without a name";
}
