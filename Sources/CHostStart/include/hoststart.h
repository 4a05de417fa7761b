/* The start of a host by a program. In C, since code between clone and exec must not allocate. Each function
 * returns -errno where it fails. */
#ifndef TOKENKIT_HOSTSTART_H
#define TOKENKIT_HOSTSTART_H

#include <limits.h>
#include <stdint.h>

/* The same file under a descriptor above those that programs close, or take for their streams; the given one is closed. */
int32_t tokenkit_moved_up(int32_t descriptor);
/* Two ends of a stream socket, above the standard streams, which a program may have closed. */
int32_t tokenkit_socket_pair(int32_t ends[2]);

/* The folder of the file that this function is in, a library or a program, without symbolic links; 0 where it is unknown. */
int32_t tokenkit_own_folder(char folder[PATH_MAX]);

/* Where the host is installed, unless it is beside the program or the library that asks it. */
const char *tokenkit_installed_host(void);

/* Starts a host as a process that this program never sees: no signal tells of its end, and no wait
 * returns it. Its descriptor 3 is the socket, the standard streams are /dev/null, and all others are closed.
 *
 * A shared host listens at the socket and has a session of its own, so that no terminal's signal reaches it. A private one serves the
 * program at the socket's other end. */
int32_t tokenkit_start(const char *path, char *const environment[], int32_t socket, int32_t is_shared);

#endif
