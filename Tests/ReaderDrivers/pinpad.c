/* vpcd's reader with its own keypad: a driver in front of vpcd's that reads a "typed" PIN and sends it to the card. PC/SC part 10.

   PINPAD_KEYS names a file with the input: digits, "cancel", or "break" for a reader that fails; without the file nothing is
   typed. Each entry adds a line to the file of that name with ".log": "typed", or what was wrong with the request. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ifdhandler.h>
#include <reader.h>

enum {
    verify_pin = SCARD_CTL_CODE(0x330000 + FEATURE_VERIFY_PIN_DIRECT),
    properties = SCARD_CTL_CODE(0x330000 + FEATURE_GET_TLV_PROPERTIES),
};

/* A function of vpcd's driver, which Scripts/private-pcscd copies to this path. */
static void *vpcd(const char *name) {
    static void *library;
    if (!library) library = dlopen("/run/vpcd.so", RTLD_NOW | RTLD_LOCAL);
    void *function = library ? dlsym(library, name) : NULL;
    if (!function) {
        fprintf(stderr, "pinpad: %s\n", dlerror());
        abort();
    }
    return function;
}

#define FORWARD(name, parameters, arguments)                         \
    RESPONSECODE name parameters {                                   \
        static RESPONSECODE(*next) parameters;                       \
        if (!next) next = (RESPONSECODE(*) parameters)vpcd(#name);   \
        return next arguments;                                       \
    }

FORWARD(IFDHCreateChannelByName, (DWORD lun, LPSTR device), (lun, device))
FORWARD(IFDHCreateChannel, (DWORD lun, DWORD channel), (lun, channel))
FORWARD(IFDHCloseChannel, (DWORD lun), (lun))
FORWARD(IFDHGetCapabilities, (DWORD lun, DWORD tag, PDWORD length, PUCHAR value), (lun, tag, length, value))
FORWARD(IFDHSetCapabilities, (DWORD lun, DWORD tag, DWORD length, PUCHAR value), (lun, tag, length, value))
FORWARD(IFDHSetProtocolParameters, (DWORD lun, DWORD protocol, UCHAR flags, UCHAR pts1, UCHAR pts2, UCHAR pts3),
        (lun, protocol, flags, pts1, pts2, pts3))
FORWARD(IFDHPowerICC, (DWORD lun, DWORD action, PUCHAR atr, PDWORD length), (lun, action, atr, length))
FORWARD(IFDHICCPresence, (DWORD lun), (lun))
FORWARD(IFDHTransmitToICC,
        (DWORD lun, SCARD_IO_HEADER send, PUCHAR command, DWORD length, PUCHAR answer, PDWORD answer_length,
         PSCARD_IO_HEADER received),
        (lun, send, command, length, answer, answer_length, received))

static RESPONSECODE give(const void *bytes, DWORD count, PUCHAR answer, DWORD limit, LPDWORD returned) {
    if (count > limit) return IFD_ERROR_INSUFFICIENT_BUFFER;
    memcpy(answer, bytes, count);
    *returned = count;
    return IFD_SUCCESS;
}

static void note(const char *line) {
    char path[4096];
    snprintf(path, sizeof path, "%s.log", getenv("PINPAD_KEYS"));
    FILE *file = fopen(path, "a");
    if (!file) return;
    fprintf(file, "%s\n", line);
    fclose(file);
}

/* The field of a request for a PIV PIN that is wrong; NULL if the request is right. */
static const char *fault(const PIN_VERIFY_STRUCTURE *request, DWORD length) {
    static const UCHAR command[] = {0x00, 0x20, 0x00, 0x80, 0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
    static const UCHAR prologue[3];
    if (length != sizeof *request + sizeof command) return "length";
    if (request->bTimerOut == 0 || request->bTimerOut2 == 0) return "time";
    if (request->bmFormatString != 0x82) return "bmFormatString";
    if (request->bmPINBlockString != 0x08) return "bmPINBlockString";
    if (request->bmPINLengthFormat != 0) return "bmPINLengthFormat";
    if (request->wPINMaxExtraDigit != 0x0608) return "wPINMaxExtraDigit";
    if (request->bEntryValidationCondition != 0x02) return "bEntryValidationCondition";
    if (request->bNumberMessage != 1 || request->bMsgIndex != 0) return "messages";
    if (memcmp(request->bTeoPrologue, prologue, sizeof prologue) != 0) return "bTeoPrologue";
    if (request->ulDataLength != sizeof command) return "ulDataLength";
    return memcmp(request->abData, command, sizeof command) == 0 ? NULL : "abData";
}

static RESPONSECODE enter(DWORD lun, const PIN_VERIFY_STRUCTURE *request, PUCHAR answer, DWORD limit, LPDWORD returned) {
    char typed[32] = "";
    FILE *file = fopen(getenv("PINPAD_KEYS"), "r");
    if (!file) return give("\x64\x00", 2, answer, limit, returned);
    if (fscanf(file, "%31s", typed) != 1) typed[0] = '\0';
    fclose(file);
    if (strcmp(typed, "break") == 0) return IFD_COMMUNICATION_ERROR;
    if (strcmp(typed, "cancel") == 0) return give("\x64\x01", 2, answer, limit, returned);
    size_t count = strspn(typed, "0123456789");
    if (count < request->wPINMaxExtraDigit >> 8 || count > (request->wPINMaxExtraDigit & 0xFF))
        return give("\x64\x03", 2, answer, limit, returned);
    UCHAR command[13];
    memcpy(command, request->abData, sizeof command);
    memcpy(command + 5, typed, count);
    SCARD_IO_HEADER header = {.Protocol = 1};
    UCHAR response[258];
    DWORD length = sizeof response;
    RESPONSECODE code = IFDHTransmitToICC(lun, header, command, sizeof command, response, &length, &header);
    return code == IFD_SUCCESS ? give(response, length, answer, limit, returned) : code;
}

RESPONSECODE IFDHControl(
    DWORD lun, DWORD code, PUCHAR request, DWORD length, PUCHAR answer, DWORD limit, LPDWORD returned) {
    *returned = 0;
    if (code == CM_IOCTL_GET_FEATURE_REQUEST) {
        struct {
            UCHAR other[4];
            PCSC_TLV_STRUCTURE features[2];
        } list = {
            .other = {0x55, 2, 0xAA, 0xAA},
            .features = {{FEATURE_VERIFY_PIN_DIRECT, 4, htonl(verify_pin)}, {FEATURE_GET_TLV_PROPERTIES, 4, htonl(properties)}},
        };
        return give(&list, sizeof list, answer, limit, returned);
    }
    if (code == properties) {
        static const UCHAR limits[] = {PCSCv2_PART10_PROPERTY_bMinPINSize, 1, 4, PCSCv2_PART10_PROPERTY_bMaxPINSize, 1, 8};
        return give(limits, sizeof limits, answer, limit, returned);
    }
    if (code != verify_pin) return IFD_ERROR_NOT_SUPPORTED;
    const char *wrong = fault((const PIN_VERIFY_STRUCTURE *)request, length);
    note(wrong ? wrong : "typed");
    if (wrong) return IFD_COMMUNICATION_ERROR;
    return enter(lun, (const PIN_VERIFY_STRUCTURE *)request, answer, limit, returned);
}
