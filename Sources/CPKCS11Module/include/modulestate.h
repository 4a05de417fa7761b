/* What the module keeps of the host's answers, beside the state of its connections in sharedstate.h. */
#ifndef TOKENKIT_MODULESTATE_H
#define TOKENKIT_MODULESTATE_H

#include <sharedstate.h>

enum {
    tokenkit_word_changes = tokenkit_word_own, /* how many calls may have changed objects or their attributes */
    tokenkit_word_signature,                   /* the lock of tokenkit_begun_signature */
};

/* The attributes of the last object that a program asked about, as they came with the host's answer. */
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

/* The attributes that a connection keeps, for the thread that has the connection. */
struct tokenkit_attributes *tokenkit_attributes_of(int32_t index);

/* For the thread that holds tokenkit_word_signature. */
struct tokenkit_signature *tokenkit_begun_signature(void);

#endif
