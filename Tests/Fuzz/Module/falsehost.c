/* A host that lies, in the process that asks it: each byte of an input chooses a call, a buffer of it, or a part of the host's answer.
 *
 *     falsehost MODULE FILE…      runs each file; with libFuzzer linked in, MODULE is in the environment
 *
 * A thread is the session's host: it listens in a folder below XDG_RUNTIME_DIR. The program's thread takes bytes of the input
 * between calls, and the host's thread while the other one waits for an answer. The host never leaves a client waiting: after
 * an answer that may be incomplete it sends nothing more on the connection, and shuts it down at once. */
#define _GNU_SOURCE
#include "input.h"
#include "../../ModulePrograms/wire.h"

#include <dirent.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/un.h>

/* MARK: The host */

enum { most_served = 80, longest = 1 << 17 };

struct served {
    int descriptor, is_control, is_greeted, is_over;
};

static int listener;
static struct served served[most_served];
static _Atomic int served_count;
static uint8_t message[longest];
static size_t end;

static void put(uint64_t number, int count) {
    memcpy(message + end, &number, count);
    end += count;
}

/* A number that is small, at the edge of a type, or any. */
static uint64_t any_number(void) {
    static const uint64_t edges[] = {
        31,        32,         63,        64,         65,          255,         256,   4095,  4096,       4097,
        0x7FFFFFFF, 0xFFFFFFFF, 1UL << 32, 1UL << 62, ~0UL >> 1, 1UL << 63, ~0UL - 1, ~0UL, 0x150, 0x30};
    uint8_t choice = byte();
    if (choice < 64) return choice;
    if (choice < 224) return edges[choice % (sizeof edges / sizeof *edges)];
    uint64_t number = 0;
    for (int index = 0; index < 8; index++) number = number << 8 | byte();
    return number;
}

/* No text, any text, text that is long enough for the module's structures, or attributes with types and lengths. */
static void put_text(void) {
    size_t start = end;
    put(0, 4);
    uint8_t choice = byte();
    switch (choice & 3) {
    case 0: break;
    case 1:
        for (int index = choice >> 2; index > 0; index--) put(byte(), 1);
        break;
    case 2:
        for (int index = 0; index < 64 + (choice >> 2); index++) put(0x20 + index, 1);
        break;
    default:
        for (int count = choice >> 5; count >= 0; count--) {
            static const uint64_t types[] = {CKA_LABEL, CKA_ID, CKA_CLASS, CKA_VALUE};
            uint8_t type = byte(), length = byte();
            put(types[type & 3], 8);
            put(length == 255 ? any_number() : length, 4);
            for (int index = 0; index < length; index++) put(index, 1);
        }
    }
    uint32_t count = end - start - 4;
    memcpy(message + start, &count, 4);
}

/* The well-formed fields of an answer. Returns the number of secret bytes that they promise. */
static uint32_t put_fields(void) {
    static const uint64_t codes[] = {
        CKR_OK, CKR_OK, CKR_OK, CKR_OK, CKR_BUFFER_TOO_SMALL, CKR_ATTRIBUTE_SENSITIVE, CKR_DEVICE_ERROR, ~0UL};
    put(codes[byte() & 7], 8);
    uint32_t notes = byte() & 3;
    put(notes, 4);
    for (uint32_t note = 0; note < notes; note++) {
        uint32_t length = byte() & 31;
        put(length, 4);
        for (uint32_t index = 0; index < length; index++) put(byte(), 1);
    }
    uint8_t choice = byte();
    uint32_t numbers = choice < 240 ? choice & 15 : choice < 250 ? 4096 : 5000;
    uint64_t promised = 0;
    put(numbers, 4);
    for (uint32_t index = 0; index < numbers; index++) {
        uint64_t number = index < 16 ? any_number() : index;
        put(number, 8);
        if (number != ~0UL) promised += number;
    }
    put_text();
    return promised < 32768 ? promised : 0;
}

/* Sends one answer. Returns 0 if nothing more may be sent on the connection. */
static int give_answer(int to, uint32_t number) {
    for (int times = 0; times < 4; times++) {
        uint8_t how = byte();
        struct header header = {answer, {0}, number, 0, 0};
        end = sizeof header;
        int goes_on = 1;
        switch (how & 7) {
        default: header.secrets = put_fields(); break;
        case 4: /* another number of secret bytes than the fields promise */
            put_fields();
            header.secrets = any_number() % 32768;
            break;
        case 5: /* fields that are any bytes */
            for (int count = byte(); count > 0; count--) put(byte(), 1);
            break;
        case 6: /* a wrong header */
            header.secrets = put_fields();
            header.kind = byte(), header.zero[0] = byte() & 1;
            header.number += byte() & 3, header.fields += any_number(), header.secrets += any_number();
            goes_on = 0;
            break;
        case 7: header.kind = working; break;
        }
        if (how & 8) {
            /* Some bytes are replaced by any others. */
            for (int changes = byte() & 7; changes > 0; changes--) {
                size_t offset = (byte() | byte() << 8) % end;
                message[offset] = byte();
            }
        }
        header.fields += end - sizeof header;
        uint32_t secrets = header.secrets < 32768 ? header.secrets : 32768;
        memset(message + end, 0x5A, secrets);
        end += secrets;
        memcpy(message, &header, sizeof header);
        if (how & 16) {
            /* The message is cut, and the rest never follows. */
            size_t missing = byte();
            end -= missing < end ? missing : end;
            goes_on = 0;
        }
        if (!give(to, message, end)) return 0;
        /* The answer is sent twice. */
        if (how & 32 && !give(to, message, end)) return 0;
        if (!goes_on) return 0;
        if (header.kind == answer) return 1;
    }
    return 0;
}

static void forget(int index) {
    close(served[index].descriptor);
    served[index] = served[served_count - 1];
    served_count--;
}

static void add(int descriptor, int is_control) {
    HOLDS(served_count < most_served);
    served[served_count++] = (struct served){.descriptor = descriptor, .is_control = is_control};
}

/* Sends the greeting, which in some inputs is false. Returns 0 if the client is not served. */
static int greet(int from) {
    static uint8_t fields[1 << 16];
    struct header header;
    if (!take_message(from, &header, fields, sizeof fields)) return 0;
    uint8_t how = byte();
    if (how < 250) return give_message(from, hello, 0, "\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0", 16, 0);
    end = 0;
    header = (struct header){hello, {0}, 0, how == 255 ? any_number() : 16, 0};
    memcpy(message, &header, sizeof header), end = sizeof header;
    for (int count = how & 1 ? 16 : byte(); count > 0; count--) put(byte(), 1);
    give(from, message, end);
    return 0;
}

/* Serves one message. Returns 0 if the connection has ended. */
static int serve_once(struct served *one) {
    if (one->is_control && !one->is_greeted) return one->is_greeted = greet(one->descriptor);
    if (one->is_control) {
        int descriptor = take_connection(one->descriptor);
        if (descriptor >= 0) add(descriptor, 0);
        return descriptor >= 0;
    }
    static uint8_t fields[1 << 20];
    struct header header;
    if (!take_message(one->descriptor, &header, fields, sizeof fields)) return 0;
    if (!one->is_over && !give_answer(one->descriptor, header.number)) {
        /* The client may be sending its next call already, and must not conclude that the host ended without reading it. */
        one->is_over = 1;
        shutdown(one->descriptor, SHUT_WR);
    }
    return 1;
}

static void *be_host(void *nothing) {
    struct pollfd watched[most_served + 1];
    for (;;) {
        int count = served_count;
        for (int index = 0; index < count; index++) watched[index] = (struct pollfd){served[index].descriptor, POLLIN, 0};
        watched[count] = (struct pollfd){listener, POLLIN, 0};
        if (poll(watched, count + 1, -1) <= 0) continue;
        if (watched[count].revents != 0) add(accept4(listener, NULL, NULL, SOCK_CLOEXEC), 1);
        /* In reverse order, since forget() moves the last connection to the free place. */
        for (int index = count - 1; index >= 0; index--) {
            if (watched[index].revents != 0 && !serve_once(&served[index])) forget(index);
        }
    }
    return nothing;
}

static void start_host(void) {
    char folder[80], here[96];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    HOLDS(runtime != NULL && (size_t)snprintf(folder, sizeof folder, "%s/falsehost.%d", runtime, getpid()) < sizeof folder);
    HOLDS(mkdir(folder, 0700) == 0);
    snprintf(here, sizeof here, "%s/tokenkit", folder);
    HOLDS(mkdir(here, 0700) == 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s/host", here);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    HOLDS(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 16) == 0);
    /* With these variables no other host is found or started. */
    for (const char *const *name = (const char *const[]){
             "XDG_RUNTIME_DIR", "HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "PCSCLITE_CSOCK_NAME", NULL};
         *name != NULL; name++) {
        HOLDS(setenv(*name, strcmp(*name, "PCSCLITE_CSOCK_NAME") == 0 ? "/nonexistent" : folder, 1) == 0);
    }
    pthread_t thread;
    HOLDS(pthread_create(&thread, NULL, be_host, NULL) == 0);
}

/* MARK: The program */

static CK_MECHANISM mechanism = {CKM_ECDSA, NULL, 0};
static CK_OBJECT_CLASS class = CKO_PRIVATE_KEY;
static CK_ATTRIBUTE template[] = {{CKA_CLASS, &class, sizeof class}};

/* A success never reports more than the buffer holds. */
static void see(CK_RV code, struct room given, CK_ULONG size) {
    if (code == CKR_OK && given.bytes != NULL) HOLDS(*given.count <= size);
}

static CK_ULONG size_of(struct room given) { return given.count == NULL ? 0 : *given.count; }

/* Data, which in some inputs is longer than a message may be. */
static CK_BYTE *data(CK_ULONG *count) {
    static CK_BYTE long_data[(1 << 20) + 4096];
    uint8_t choice = byte();
    *count = choice == 255 ? sizeof long_data : choice;
    return long_data;
}

static void transform(CK_RV (*function)(CK_SESSION_HANDLE, CK_BYTE *, CK_ULONG, CK_BYTE *, CK_ULONG *)) {
    struct room to = room();
    CK_ULONG size = size_of(to), count;
    CK_BYTE *from = data(&count);
    see(function(1, from, count, to.bytes, to.count), to, size);
}

static void finish(CK_RV (*function)(CK_SESSION_HANDLE, CK_BYTE *, CK_ULONG *)) {
    struct room to = room();
    CK_ULONG size = size_of(to);
    see(function(1, to.bytes, to.count), to, size);
}

static void get_attributes(void) {
    static const CK_ATTRIBUTE_TYPE types[] = {CKA_LABEL, CKA_ID, CKA_CLASS, CKA_VALUE, CKA_MODULUS};
    CK_ULONG count = byte() & 7, sizes[8];
    CK_ATTRIBUTE *attributes = space(count * sizeof *attributes);
    if (attributes == NULL) return;
    for (CK_ULONG index = 0; index < count; index++) {
        uint8_t choice = byte();
        sizes[index] = choice & 1 ? choice >> 1 : 300;
        attributes[index] = (CK_ATTRIBUTE){
            types[byte() % 5], (choice & 0x12) == 0x12 ? NULL : space(sizes[index]), sizes[index]};
    }
    CK_RV code = all->C_GetAttributeValue(1, byte() & 1, attributes, count);
    if (code != CKR_OK) return;
    for (CK_ULONG index = 0; index < count; index++)
        HOLDS(attributes[index].pValue == NULL || attributes[index].ulValueLen <= sizes[index] ||
              attributes[index].ulValueLen == ~0UL);
}

static void list(CK_RV (*function)(void *, CK_ULONG *)) {
    uint8_t choice = byte();
    CK_ULONG *count = space(sizeof *count), size = choice & 1 ? 4200 : choice >> 2;
    if (count == NULL) return;
    *count = size;
    void *numbers = choice & 2 ? NULL : space(size * sizeof(CK_ULONG));
    see(function(numbers, count), (struct room){numbers, count}, size);
}

static CK_RV list_slots(void *slots, CK_ULONG *count) { return all->C_GetSlotList(CK_TRUE, slots, count); }

static CK_RV list_mechanisms(void *mechanisms, CK_ULONG *count) { return all->C_GetMechanismList(1, mechanisms, count); }

static CK_RV list_objects(void *objects, CK_ULONG *count) { return all->C_FindObjects(1, objects, objects == NULL ? 0 : *count, count); }

static void one_call(void) {
    CK_ULONG count;
    CK_BYTE *from;
    switch (byte() % 40) {
    case 0: list(list_slots); break;
    case 1: all->C_GetSlotInfo(1, space(sizeof(CK_SLOT_INFO))); break;
    case 2: all->C_GetTokenInfo(1, space(sizeof(CK_TOKEN_INFO))); break;
    case 3: list(list_mechanisms); break;
    case 4: all->C_GetMechanismInfo(1, CKM_ECDSA, space(sizeof(CK_MECHANISM_INFO))); break;
    case 5: all->C_OpenSession(1, CKF_SERIAL_SESSION, NULL, NULL, space(sizeof(CK_ULONG))); break;
    case 6: all->C_GetSessionInfo(1, space(sizeof(CK_SESSION_INFO))); break;
    case 7: all->C_Login(1, CKU_USER, pin, 6); break;
    case 8: all->C_SetPIN(1, pin, 6, pin, 6); break;
    case 9: all->C_CreateObject(1, template, 1, space(sizeof(CK_ULONG))); break;
    case 10: all->C_CopyObject(1, 1, template, 1, space(sizeof(CK_ULONG))); break;
    case 11: all->C_GetObjectSize(1, 1, space(sizeof(CK_ULONG))); break;
    case 12: all->C_SetAttributeValue(1, 1, template, 1); break;
    case 13: all->C_FindObjectsInit(1, template, 1); break;
    case 14: list(list_objects); break;
    case 15: all->C_FindObjectsFinal(1); break;
    case 16:
    case 17:
    case 18: get_attributes(); break;
    case 19: all->C_EncryptInit(1, &mechanism, 1); break;
    case 20: transform(all->C_Encrypt); break;
    case 21: transform(all->C_EncryptUpdate); break;
    case 22: finish(all->C_EncryptFinal); break;
    case 23: transform(all->C_Decrypt); break;
    case 24: transform(all->C_DecryptUpdate); break;
    case 25: finish(all->C_DecryptFinal); break;
    case 26: transform(all->C_Digest); break;
    case 27: finish(all->C_DigestFinal); break;
    case 28: transform(all->C_Sign); break;
    case 29: from = data(&count), all->C_SignUpdate(1, from, count); break;
    case 30: finish(all->C_SignFinal); break;
    case 31: from = data(&count), all->C_Verify(1, from, count, from, 64); break;
    case 32:
        all->C_GenerateKeyPair(1, &mechanism, template, 1, template, 1, space(sizeof(CK_ULONG)), space(sizeof(CK_ULONG)));
        break;
    case 33: {
        struct room to = room();
        CK_ULONG size = size_of(to);
        see(all->C_WrapKey(1, &mechanism, 1, 1, to.bytes, to.count), to, size);
        break;
    }
    case 34: all->C_UnwrapKey(1, &mechanism, 1, pin, 6, template, 1, space(sizeof(CK_ULONG))); break;
    case 35: all->C_DeriveKey(1, &mechanism, 1, template, 1, space(sizeof(CK_ULONG))); break;
    case 36: count = byte() * 17, all->C_GenerateRandom(1, space(count), count); break;
    case 37: all->C_WaitForSlotEvent(CKF_DONT_BLOCK, space(sizeof(CK_ULONG)), NULL); break;
    case 38: all->C_SessionCancel(1, CKF_SIGN); break;
    case 39: all->C_CloseSession(1); break;
    }
}

static int count_sockets(void) {
    DIR *folder = opendir("/proc/self/fd");
    HOLDS(folder != NULL);
    int count = 0;
    struct stat status;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += fstatat(dirfd(folder), entry->d_name, &status, 0) == 0 && S_ISSOCK(status.st_mode);
    closedir(folder);
    return count;
}

/* Checks that the module has closed all its sockets, once the host has seen the ends of its connections. */
static void check_sockets(void) {
    static int first_count;
    for (int tries = 0; served_count > 0; tries++) {
        HOLDS(tries < 10000);
        usleep(1000);
    }
    /* The program's own sockets, the listener among them. */
    if (first_count == 0) first_count = count_sockets();
    HOLDS(count_sockets() == first_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static unsigned runs;
    if (all == NULL) {
        start_host();
        load_all();
    }
    input = bytes, left = size;
    MUST(CKR_OK, all->C_Initialize(NULL));
    for (int calls = 0; left > 0 && calls < 64; calls++) one_call();
    MUST(CKR_OK, all->C_Finalize(NULL));
    free_owned();
    if (runs++ % 256 == 0) check_sockets();
    return 0;
}

#ifdef STANDALONE
int main(int count, char **arguments) {
    run_files(count, arguments);
    check_sockets();
    return 0;
}
#endif
