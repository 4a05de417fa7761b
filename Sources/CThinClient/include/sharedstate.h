/* The library's state between calls: words that threads change concurrently, and the fields of each connection.
 *
 * In C, since Swift initialises global atomics at their first use, under a lock, and a child by fork may lack the thread that holds
 * the lock. */
#ifndef TOKENKIT_SHAREDSTATE_H
#define TOKENKIT_SHAREDSTATE_H

#include <stdint.h>

/* A socket to the host, as long as its descriptor is still that socket. */
struct tokenkit_connection {
    int32_t descriptor;
    uint32_t request;     /* number of the last request */
    uint64_t inode;       /* of the socket, by which it is known again */
    uint64_t initialisation; /* the value of the word when it was made */
    uint64_t host;        /* number of the host, of those that this process has had */
};

enum {
    tokenkit_word_initialisation, /* process and round of the initialisation; 0 for none */
    tokenkit_word_process, /* owner of the connections: the process that was initialised last */
    tokenkit_word_first_kept,     /* the words before are 0 in a child by fork: see tokenkit_wipe_on_fork */
    tokenkit_word_host = tokenkit_word_first_kept, /* state of the connection by which this process is the host's client */
    tokenkit_word_hosts,          /* how many hosts there have been */
    tokenkit_word_rounds,         /* how many initialisations there have been */
    tokenkit_word_failed_starts,  /* how many starts of a host have failed since the last one that did not */
    tokenkit_word_pause_end,      /* the time of tokenkit_now until which no host is started after that */
    tokenkit_word_returns,        /* changes when a thread gives a connection back */
    tokenkit_word_remote,      /* 1 where the host is on another machine, and takes no descriptors */
    tokenkit_word_ticket_high,    /* the number by which that host knows this client */
    tokenkit_word_ticket_low,
    tokenkit_word_own,            /* the first of the words that each library has a meaning of its own for */
    tokenkit_own_words = 2,
    tokenkit_word_connections = tokenkit_word_own + tokenkit_own_words, /* the first of the words with the state of a connection */
    tokenkit_connection_count = 64,
};

/* Has the kernel give a child by fork zeros for the words that name the process, from Linux 4.14 on: in a PID namespace of its own
 * the child may have its parent's process id. Elsewhere the ids alone tell them apart. */
void tokenkit_wipe_on_fork(void);

uint64_t tokenkit_load(int32_t word);
void tokenkit_store(int32_t word, uint64_t value);
/* Stores a value if the word has the expected one; 1 where it did. */
int32_t tokenkit_replace(int32_t word, uint64_t expected, uint64_t value);

/* The connection by which this process is the host's client, and the connections for calls. */
struct tokenkit_connection *tokenkit_client(void);
struct tokenkit_connection *tokenkit_connection(int32_t index);

#endif
