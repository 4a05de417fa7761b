#include "sharedstate.h"

#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/mman.h>

static _Atomic uint64_t words[tokenkit_word_connections + tokenkit_connection_count];
static struct tokenkit_connection client, connections[tokenkit_connection_count];

/* A page of their own, since the kernel wipes pages. Where its pages are longer, they are not wiped. */
enum { page_size = 4096 };
static _Alignas(page_size) union {
    _Atomic uint64_t words[tokenkit_word_first_kept];
    char page[page_size];
} wiped;

static _Atomic uint64_t *at(int32_t word) { return word < tokenkit_word_first_kept ? &wiped.words[word] : &words[word]; }

void tokenkit_wipe_on_fork(void) {
#ifdef MADV_WIPEONFORK
    if (getauxval(AT_PAGESZ) == page_size) madvise(&wiped, sizeof wiped, MADV_WIPEONFORK);
#endif
}

uint64_t tokenkit_load(int32_t word) { return *at(word); }

void tokenkit_store(int32_t word, uint64_t value) { *at(word) = value; }

int32_t tokenkit_replace(int32_t word, uint64_t expected, uint64_t value) {
    return atomic_compare_exchange_strong(at(word), &expected, value);
}

struct tokenkit_connection *tokenkit_client(void) { return &client; }

struct tokenkit_connection *tokenkit_connection(int32_t index) { return &connections[index]; }

