#include "sharedstate.h"

#include <stdatomic.h>

static _Atomic uint64_t words[tokenkit_word_connections + tokenkit_connection_count];
static struct tokenkit_connection client, connections[tokenkit_connection_count];
static struct tokenkit_signature begun_signature;

uint64_t tokenkit_load(int32_t word) { return words[word]; }

void tokenkit_store(int32_t word, uint64_t value) { words[word] = value; }

int32_t tokenkit_replace(int32_t word, uint64_t expected, uint64_t value) {
    return atomic_compare_exchange_strong(&words[word], &expected, value);
}

struct tokenkit_connection *tokenkit_client(void) { return &client; }

struct tokenkit_connection *tokenkit_connection(int32_t index) { return &connections[index]; }

struct tokenkit_signature *tokenkit_begun_signature(void) { return &begun_signature; }
