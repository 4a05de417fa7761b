/* A program without HOME, in which the module has to find out by itself whether there is a keychain: in the user's folder by
 * /etc/passwd, which is a file of the test's here. The second argument is a folder for the home. No host is started: instead, starts are
 * counted. */
#define _GNU_SOURCE
#include "module.h"
#include "host.h"
#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

static int starts, is_privileged;

/* Replaces libc's function, by which the module starts a host. */
int clone(int (*function)(void *), void *stack, int flags, void *argument, ...) {
    (void)function, (void)stack, (void)flags, (void)argument;
    starts++;
    errno = EPERM;
    return -1;
}

/* Replaces libc's function, which gives a program with more rights than its user no variable. */
char *secure_getenv(const char *name) { return is_privileged ? NULL : getenv(name); }

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    HOLDS(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* The file as the user's system has it, for this process alone; and no card service. */
static void replace(const char *users) {
    write_file("users", users);
    HOLDS(mount("users", "/etc/passwd", NULL, MS_BIND, NULL) == 0);
}

static void get_rights_to_mount(void) {
    uid_t user = geteuid();
    gid_t group = getegid();
    char map[64];
    HOLDS(unshare((user == 0 ? 0 : CLONE_NEWUSER) | CLONE_NEWNS) == 0);
    if (user != 0) {
        snprintf(map, sizeof map, "%d %d 1", (int)user, (int)user);
        write_file("/proc/self/uid_map", map);
        /* A file of a group without a number here could not be made. */
        write_file("/proc/self/setgroups", "deny");
        snprintf(map, sizeof map, "%d %d 1", (int)group, (int)group);
        write_file("/proc/self/gid_map", map);
    }
    HOLDS(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
    HOLDS(mount("none", "/run/pcscd", "tmpfs", 0, NULL) == 0 || errno == ENOENT);
    HOLDS(mount("none", "/etc", "tmpfs", 0, NULL) == 0);
    write_file("/etc/passwd", "");
    HOLDS(mkdir("/etc/tokenkit", 0755) == 0);
}

static int is_host_started(void) {
    starts = 0;
    CK_ULONG slots = 1;
    MUST(CKR_OK, p11->C_Initialize(NULL));
    MUST(CKR_OK, p11->C_GetSlotList(CK_FALSE, NULL, &slots));
    HOLDS(slots == 0);
    MUST(CKR_OK, p11->C_Finalize(NULL));
    return starts > 0;
}

static void look(const char *home) {
    char users[4096], folder[300];
    int user = geteuid();
    snprintf(users, sizeof users,
             "# no line\n\n%d:x:1:1::/:\n:x::::/:\nlonger:x:1%d:0::/:\nnegative:x:-%d:0::/:\nshort:x:%d\n"
             "this:x:%d:0:a comment:%s:/bin/sh\nsame:x:%d:0::/:\n",
             user, user, user, user, user, home, user);
    replace(users);
    HOLDS(!is_host_started());
    snprintf(folder, sizeof folder, "%s/.config/tokenkit", home);
    HOLDS(mkdir(folder, 0700) == 0);
    HOLDS(is_host_started());
    HOLDS(rmdir(folder) == 0);
    HOLDS(!is_host_started());
}

#define SETTINGS "/etc/tokenkit/keychains.conf"

/* A folder for settings is no need of a host, nor is a file of comments alone, as packages install it. */
static void look_at_settings(void) {
    static const char *const comments[] = {"", "\n", "# keychain = /a\n \t# x\r\n\n", "#", NULL};
    static const char *const settings[] = {"keychain = /a\n", "#\n\t keychain = /a", "x", NULL};
    for (const char *const *text = comments; *text != NULL; text++) {
        write_file(SETTINGS, *text);
        HOLDS(!is_host_started());
    }
    for (const char *const *text = settings; *text != NULL; text++) {
        write_file(SETTINGS, *text);
        HOLDS(is_host_started());
    }
    /* Behind a comment that is longer than a block; and in a file longer than what the host reads. */
    char text[70001] = "#";
    memset(text + 1, 'x', 5000);
    strcpy(text + 5000, "\nkeychain = /a\n");
    write_file(SETTINGS, text);
    HOLDS(is_host_started());
    memset(text, '#', 70000);
    text[70000] = 0;
    write_file(SETTINGS, text);
    HOLDS(is_host_started());
    /* What is no file holds no program up. */
    HOLDS(unlink(SETTINGS) == 0 && mkfifo(SETTINGS, 0644) == 0);
    HOLDS(!is_host_started());
    HOLDS(unlink(SETTINGS) == 0 && mkdir(SETTINGS, 0755) == 0);
    HOLDS(is_host_started());
    HOLDS(rmdir(SETTINGS) == 0);
    HOLDS(!is_host_started());
}

int main(int count, char **arguments) {
    HOLDS(count == 3);
    const char *home = arguments[2];
    char folder[300];
    snprintf(folder, sizeof folder, "%s/.config", home);
    HOLDS(mkdir(home, 0700) == 0 && mkdir(folder, 0700) == 0);
    get_rights_to_mount();
    load(arguments[1]);

    HOLDS(unsetenv("HOME") == 0 && unsetenv("XDG_CONFIG_HOME") == 0 && unsetenv("XDG_DATA_HOME") == 0);
    look(home);
    look_at_settings();
    /* No variable is believed. */
    HOLDS(setenv("HOME", "/", 1) == 0);
    is_privileged = 1;
    look(home);
    /* A user of another database: the host knows the home. */
    replace("other:x:4294967294:0::/:/bin/sh\n");
    HOLDS(is_host_started());
    return 0;
}
