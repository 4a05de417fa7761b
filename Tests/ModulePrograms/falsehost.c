/* A host that lies, installed as tokenkitd beside a copy of the module. TOKENKIT_TEST_WAY has a letter, the way to lie, and a
 * number, which seeds the random numbers. */
#define _GNU_SOURCE
#include "wire.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { control = 3 };

static uint8_t fields[1 << 20], lie[1 << 16];

static size_t put(size_t position, uint64_t number, int count) {
    memcpy(lie + position, &number, count);
    return position + count;
}

static uint64_t any(void) {
    static const uint64_t edges[] = {0, 1, 2, 31, 32, 63, 64, 65, 255, 4096, 0x7FFFFFFF, 0xFFFFFFFF, ~0ULL >> 1, ~0ULL, 0x150, 0x30};
    return rand() % 3 == 0 ? (uint64_t)rand() << 31 | rand() : edges[rand() % 16];
}

/* A well-formed answer with random content. */
static size_t make_answer(uint64_t code) {
    size_t end = put(0, code, 8);
    uint32_t notes = rand() % 3, numbers = rand() % 12, text = rand() % 200;
    end = put(end, notes, 4);
    for (uint32_t note = 0; note < notes; note++) {
        uint32_t length = rand() % 100;
        end = put(end, length, 4);
        for (uint32_t index = 0; index < length; index++) lie[end++] = rand();
    }
    end = put(end, numbers, 4);
    for (uint32_t number = 0; number < numbers; number++) end = put(end, any(), 8);
    end = put(end, text, 4);
    for (uint32_t index = 0; index < text; index++) lie[end++] = rand();
    return end;
}

static void give_secrets(int to, uint32_t count) {
    for (uint32_t index = 0; index < count; index += 4096) {
        uint8_t part[4096];
        memset(part, rand(), sizeof part);
        if (!give(to, part, count - index < sizeof part ? count - index : sizeof part)) return;
    }
}

/* Returns 0 if the connection is not served any more. */
static int lie_about(int way, int to, const struct header *asked) {
    uint32_t number = asked->number;
    size_t count = make_answer(rand() % 4 == 0 ? any() : 0);
    uint32_t secrets = rand() % 3 == 0 ? rand() % 6000 : 0;
    switch (way) {
        case 'g': /* garbage */
            for (size_t index = 0; index < 216; index++) lie[index] = rand();
            return give(to, lie, sizeof(struct header) + rand() % 200), rand() % 2;
        case 'i': /* another request's number */
            return give_message(to, answer, number + 1 + rand() % 3, lie, count, 0);
        case 'k': /* another kind */
            return give_message(to, rand() % 8, number, lie, count, 0);
        case 'l': /* lengths that are more, and less, than what follows */
            give_message(to, answer, number, lie, count - 1, 0);
            return 0;
        case 'v': { /* lengths that are more than there can be */
            struct header header = {answer, {0}, number, rand() % 2 ? ~0U : 1 << 20, rand() % 2 ? ~0U : 17 << 20};
            give(to, &header, sizeof header);
            return 0;
        }
        case 'b': /* bytes that were changed */
            for (int changes = 1 + rand() % 4; changes > 0; changes--) lie[rand() % count] = any();
            /* fall through */
        case 'a': /* answers that are well made, and not those of the function */
            if (!give_message(to, answer, number, lie, count, secrets)) return 0;
            return give_secrets(to, secrets), 1;
        case 'c': /* closed midway, wherever that is */
            if (rand() % 4 == 0) return 0;
            memmove(lie + sizeof(struct header), lie, count);
            *(struct header *)lie = (struct header){answer, {0}, number, count, secrets};
            give(to, lie, rand() % (sizeof(struct header) + count));
            return 0;
        case 'm': /* more than was asked for: a second answer */
            give_message(to, answer, number, lie, count, 0);
            return give_message(to, answer, number, lie, count, 0);
        case 's': /* slow: a byte a second, for ever */
            memmove(lie + sizeof(struct header), lie, count);
            *(struct header *)lie = (struct header){answer, {0}, number, count, 0};
            for (size_t index = 0; give(to, lie + index % count, 1); index++) sleep(1);
            return 0;
        case 'z': /* late, and then nothing */
        case 'n': /* nothing, for as long as it is waited for */
            return read(to, lie, 1) < 0;
        case 'w': /* signs of life, and then nothing */
            for (int times = 0; times < 3; times++) give_message(to, working, number, NULL, 0, 0);
            return read(to, lie, 1) < 0;
        case 'd':
        case 'y': /* no lie: one slot */
            count = put(put(put(put(put(0, 0, 8), 0, 4), 1, 4), 1, 8), 0, 4);
            return give_message(to, answer, number, lie, count, 0);
        default: return 0;
    }
}

/* Whether this is the first host of its round. */
static int is_first(const char *way) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", getenv("XDG_RUNTIME_DIR"), way);
    return open(path, O_WRONLY | O_CREAT | O_EXCL, 0600) >= 0;
}

int main(void) {
    const char *way = getenv("TOKENKIT_TEST_WAY");
    if (way == NULL) return 1;
    srand(atoi(way + 1) + getpid());
    struct header header;
    if (!take_message(control, &header, fields, sizeof fields)) return 1;
    /* With 'h' the greeting is the lie. */
    if (way[0] == 'h') {
        switch (rand() % 5) {
            case 0: return 0;
            case 1: return give(control, "\1\0\0\0\0\0\0\0\377\377\377\377\0\0\0\0", 16), 0;
            case 2: return give_message(control, answer, 0, lie, 16, 0), 0;
            case 3: return give_message(control, hello, 0, "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16, 0), 0;
            default: return give_message(control, hello, 0, "\0\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0", 16, 0), 0;
        }
    }
    if (way[0] == 'd' && is_first(way)) return 0;
    if (way[0] == 'z') sleep(10);
    if (!give_message(control, hello, 0, "\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0", 16, 0)) return 1;
    signal(SIGCHLD, SIG_IGN);
    for (int served; (served = take_connection(control)) >= 0;) {
        if (fork() == 0) {
            close(control);
            while (take_message(served, &header, fields, sizeof fields) && lie_about(way[0], served, &header));
            _exit(0);
        }
        close(served);
    }
    return 0;
}
