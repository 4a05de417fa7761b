/* Shared by programs that look for the host which the module has started for them. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <time.h>

/* Sets a variable that the host inherits, by which it is told from other programs' hosts. */
__attribute__((unused)) static void mark_host(void) {
    char mark[32];
    snprintf(mark, sizeof mark, "%d", getpid());
    HOLDS(setenv("TOKENKIT_TEST_MARK", mark, 1) == 0);
}

/* The content of a file in a process's folder; -1 where the process is gone. */
__attribute__((unused)) static ssize_t read_process(const char *process, const char *name, char *content, size_t size) {
    char path[300];
    snprintf(path, sizeof path, "/proc/%s/%s", process, name);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return -1;
    ssize_t count = 0, part;
    while ((size_t)count < size - 1 && (part = read(descriptor, content + count, size - 1 - count)) > 0) count += part;
    close(descriptor);
    content[count] = 0;
    return count;
}

/* The hosts that have the mark and are not dead. */
__attribute__((unused)) static int find_hosts(pid_t *hosts, int room) {
    char wanted[64], content[32768];
    snprintf(wanted, sizeof wanted, "TOKENKIT_TEST_MARK=%s", getenv("TOKENKIT_TEST_MARK"));
    DIR *folder = opendir("/proc");
    HOLDS(folder != NULL);
    int found = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (!isdigit((unsigned char)entry->d_name[0])) continue;
        ssize_t count = read_process(entry->d_name, "cmdline", content, sizeof content);
        if (count <= 0 || memmem(content, count, "tokenkitd\0--private", 19) == NULL) continue;
        count = read_process(entry->d_name, "environ", content, sizeof content);
        if (count <= 0 || memmem(content, count, wanted, strlen(wanted) + 1) == NULL) continue;
        if (found < room) hosts[found] = atoi(entry->d_name);
        found++;
    }
    closedir(folder);
    return found;
}

/* A host with the mark; 0 for none. */
__attribute__((unused)) static pid_t find_host(void) {
    pid_t host = 0;
    return find_hosts(&host, 1) > 0 ? host : 0;
}

/* A host with the mark other than one that may still be about to end; 0 for none. */
__attribute__((unused)) static pid_t find_host_besides(pid_t other) {
    pid_t hosts[8];
    int count = find_hosts(hosts, 8);
    for (int index = 0; index < count && index < 8; index++) {
        if (hosts[index] != other) return hosts[index];
    }
    return 0;
}

/* Waits until there are `wanted` hosts: a host takes a moment to end after its client. */
__attribute__((unused)) static void await_hosts(int wanted) {
    for (int tries = 0; find_hosts(NULL, 0) != wanted; tries++) {
        HOLDS(tries < 1000);
        usleep(10000);
    }
}

/* The program has no child, dead or alive: the host is not its child. */
__attribute__((unused)) static void must_have_no_child(void) {
    int status;
    HOLDS(waitpid(-1, &status, WNOHANG | __WALL) == -1 && errno == ECHILD);
}

__attribute__((unused)) static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

__attribute__((unused)) static int open_descriptors(void) {
    DIR *folder = opendir("/proc/self/fd");
    HOLDS(folder != NULL);
    int count = -1; /* not the folder's own descriptor */
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}
