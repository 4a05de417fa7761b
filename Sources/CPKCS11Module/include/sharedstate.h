/* What the module keeps between calls: words that threads change at once, and what belongs to each connection.
 *
 * In C, since Swift's own atomics are set up when they are first used, for which it holds a lock, and a child by fork may be
 * without the thread that holds it. */
#ifndef TOKENKIT_SHAREDSTATE_H
#define TOKENKIT_SHAREDSTATE_H

#include <stdint.h>

/* The attributes of the object that was last asked about, as the host has told them with an answer. */
struct tokenkit_attributes {
    uint64_t session, object;
    uint64_t changes;     /* the value of the word when they were told */
    int64_t time;         /* when that was */
    uint8_t *bytes;       /* NULL for none */
    uint32_t count;
};

/* The arguments of the last C_SignInit that the host has accepted. */
enum { tokenkit_mechanism_limit = 64 };
struct tokenkit_signature {
    uint64_t initialisation, host, session, key;
    uint64_t changes;     /* the value of the word when it was accepted */
    int32_t mechanism_count; /* bytes of the mechanism; 0 where no further C_SignInit may be held back */
    int32_t is_held;      /* whether a C_SignInit is held back */
    uint8_t mechanism[tokenkit_mechanism_limit];
};

/* A socket to the host, as long as its descriptor is still that socket. */
struct tokenkit_connection {
    int32_t descriptor;
    uint32_t request;     /* number of the last request */
    uint64_t inode;       /* of the socket, by which it is known again */
    uint64_t initialisation; /* the value of the word when it was made */
    uint64_t host;        /* which of the hosts that this process has had */
    struct tokenkit_attributes attributes;
};

enum {
    tokenkit_word_initialisation, /* process and round of C_Initialize; 0 for none */
    tokenkit_word_process, /* whose the connections are: the process that called C_Initialize last */
    tokenkit_word_host,           /* state of the connection by which this process is the host's client */
    tokenkit_word_hosts,          /* how many hosts there have been */
    tokenkit_word_rounds,         /* how often C_Initialize was called */
    tokenkit_word_changes,        /* how many calls may have changed what objects say of themselves */
    tokenkit_word_signature,      /* the lock of tokenkit_begun_signature */
    tokenkit_word_connections,    /* the first of those that say who has a connection */
    tokenkit_connection_count = 64,
};

uint64_t tokenkit_load(int32_t word);
void tokenkit_store(int32_t word, uint64_t value);
/* Stores a value where the word has the one that is expected; 1 where it did. */
int32_t tokenkit_replace(int32_t word, uint64_t expected, uint64_t value);

/* The one by which this process is the host's client, and those that calls are made by. */
struct tokenkit_connection *tokenkit_client(void);
struct tokenkit_connection *tokenkit_connection(int32_t index);

/* For the thread that holds tokenkit_word_signature. */
struct tokenkit_signature *tokenkit_begun_signature(void);

#endif
