/* The connection to the host. In C, since Swift can call neither functions with a variable number of arguments nor macros. Each function
 * returns -errno where it fails. */
#ifndef TOKENKIT_HOSTPROCESS_H
#define TOKENKIT_HOSTPROCESS_H

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* secure_getenv(3): NULL also in a program that has more rights than its user. */
const char *tokenkit_getenv(const char *name);
/* Reads TOKENKIT_DEBUG. Other calls must not read the environment, which another thread of the program may be changing. */
void tokenkit_read_log_path(void);
/* Where the log goes; NULL where none is wanted. */
const char *tokenkit_log_path(void);
/* The environment of the process; NULL for none. */
char **tokenkit_environment(void);
/* Whether the program has more rights than its user: AT_SECURE of getauxval(3). */
int32_t tokenkit_is_privileged(void);

/* Connects to a socket in a folder. The folder must belong to this user and grant others no access, and the process that listens
 * must be this user's. */
int32_t tokenkit_connect(const char *folder, const char *name);
/* Connects once more to where a socket is connected to. */
int32_t tokenkit_connect_again(int32_t connected);

/* The inode of a socket; 0 where the descriptor is none. */
uint64_t tokenkit_socket_inode(int32_t descriptor);
/* Whether the other side has closed a socket, or sent unrequested bytes. */
int32_t tokenkit_is_stale(int32_t descriptor);
/* Seconds in which a host that is alive says something. */
enum { tokenkit_patience = 25 };
/* Limits the time that a send on a socket waits for the other side to tokenkit_patience. */
void tokenkit_set_patience(int32_t descriptor);

/* Milliseconds of the monotonic clock. */
int64_t tokenkit_now(void);

enum { tokenkit_gone = -EPIPE, tokenkit_unread = -ECONNRESET, tokenkit_timed_out = -EAGAIN };

/* Sends all bytes, waits for the first ones, or receives all, by sendmsg(2) without SIGPIPE and recv(2), until a time of tokenkit_now. 0, or -errno;
 * tokenkit_gone where the other side is gone, tokenkit_unread where it ended without reading the last message, tokenkit_timed_out
 * after the deadline, -EBADF where the descriptor is another socket by then than that of the inode. */
int32_t tokenkit_send(int32_t descriptor, uint64_t inode, struct iovec *parts, int32_t count, int64_t deadline);
int32_t tokenkit_await(int32_t descriptor, uint64_t inode, int64_t deadline);
int32_t tokenkit_receive(int32_t descriptor, uint64_t inode, void *bytes, size_t count, int64_t deadline);
/* Sends bytes with a descriptor, until a time of tokenkit_now. 0, or -errno; tokenkit_gone where the other side is gone, or does not
 * read. */
int32_t tokenkit_send_descriptor(int32_t descriptor, const void *bytes, size_t count, int32_t sent, int64_t deadline);
/* Waits until the other side of a socket is closed, until a time of tokenkit_now. 0, or -errno. */
int32_t tokenkit_await_end(int32_t descriptor, int64_t deadline);

/* pthread_setcancelstate(3): whether the thread can be cancelled, and whether it could before. */
int32_t tokenkit_set_cancelable(int32_t is_cancelable);

/* Opens /etc/passwd for reading. A descriptor, or -1. */
int32_t tokenkit_open_users(void);

/* Opens a file of settings for reading. A descriptor, -1 where there is none, or -2 where it cannot be read. */
int32_t tokenkit_open_settings(const char *path);

/* Appends a line to the log: to a file that only this user can read, or to standard error where the path has no slash. */
void tokenkit_log(const char *path, const char *text, size_t count);
/* Seconds and milliseconds since 1970. */
void tokenkit_time(int64_t *seconds, int64_t *milliseconds);

#endif
