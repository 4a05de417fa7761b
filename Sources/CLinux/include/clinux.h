#pragma once
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>

// secure_getenv(3), which Swift's import of libc lacks: an environment variable, unless the program has more rights than
// its caller.
const char *clinux_getenv(const char *name);

// AT_SECURE, getauxval(3): whether the program has more rights than its caller.
int clinux_is_secure(void);

// timerfd_create(2): a descriptor that is readable once the time is over. Sleep of the machine counts. This function and the
// following ones return -errno on failure.
int clinux_alarm(int64_t milliseconds);

// timerfd_create(2): a descriptor that is readable once the machine was woken or its clock was set. The read then fails.
int clinux_wakening(void);

// eventfd(2): a descriptor that is readable after it was written to.
int clinux_event(void);

// epoll(7), which Swift's import of libc lacks: a queue that waits for many descriptors.
int clinux_queue(void);
// epoll_ctl(2): waits, from now on, until there is something to read from a descriptor, or its other side is closed.
int clinux_await(int queue, int descriptor, uint64_t number);
int clinux_end_await(int queue, int descriptor);
// epoll_wait(2): waits until some of the descriptors are so. Returns the count of their numbers.
int clinux_ready(int queue, uint64_t *numbers, int capacity);

// inotify(7): a descriptor that is readable once there is an event of a watched file or folder.
int clinux_watcher(void);

// inotify_add_watch(2) for a file's attributes and its removal, for the end of writing to it, and for names in a folder.
int clinux_watch_file(int watcher, const char *path);
int clinux_watch_writing(int watcher, const char *path);
int clinux_watch_folder(int watcher, const char *path);
// inotify_rm_watch(2)
int clinux_unwatch(int watcher, int watch);

// openat(2) with O_PATH, which Swift's import of libc lacks: a part of a path, also a symbolic link. The descriptor cannot be read,
// and closing it drops no lock that the process has on the file. Returns the descriptor, or -errno.
int clinux_open_part(int folder, const char *name);

// statx(2), which Swift's import of libc lacks: the time at which a file was made, in nanoseconds since the start of 1970, UTC;
// negative where it is unknown.
int64_t clinux_birth(const char *path);

// The same for an open file: statx(2) with AT_EMPTY_PATH.
int64_t clinux_birth_of(int descriptor);

// fstatfs(2), which Swift's import of libc lacks: whether an open file is in a file system that a program provides, FUSE. Also 1 where
// the system does not tell.
int clinux_is_in_user_space(int descriptor);

// CLOCK_REALTIME_COARSE, the clock of files' times: never later than the birth of a file that is made afterwards.
int64_t clinux_file_time(void);

// POLLRDHUP, which libc declares only with _GNU_SOURCE: the event of poll(2) for a closed other side.
static const short clinux_hangup = 0x2000;

// posix_spawn_file_actions_addclosefrom_np(3), which glibc has since 2.34: every descriptor from a number on is closed.
int clinux_close_from(posix_spawn_file_actions_t *actions, int descriptor);

// pidfd_open(2), which glibc has since 2.36 only: a descriptor that is readable once the process has ended.
int clinux_process(int32_t process);

// SO_PEERPIDFD, which Linux has since 6.5: as clinux_process, for the process at the other end of a socket. That process cannot have
// ended and left its number to another one. -ENOPROTOOPT on an older system.
int clinux_peer_process(int socket);

// open(2) with O_PATH, which Swift's import of libc lacks: the executable file of a process, through `exe` of proc(5). The descriptor
// cannot be read. Returns the descriptor, or -errno.
int clinux_open_executable(int32_t process);

// SO_PEERCRED, unix(7): the process that connected the other end of a socket, or made the pair, and its user. 0 or -errno.
int clinux_peer(int socket, int32_t *process, uint32_t *user);

// prctl(2), which Swift's import of libc lacks. PR_SET_DUMPABLE: from now on only a process with CAP_SYS_PTRACE can trace this one, or read
// its memory and environment. A program that it executes can be traced again.
void clinux_forbid_tracing(void);
// PR_SET_NO_NEW_PRIVS: no program that this one executes, and so on, has more rights than this one.
void clinux_forbid_rights(void);

// waitid(2) with WNOWAIT, which leaves the child for a later wait: 1 with si_code and si_status, 0 while it runs, -errno.
int clinux_peek_end(int32_t process, int32_t *code, int32_t *status);
