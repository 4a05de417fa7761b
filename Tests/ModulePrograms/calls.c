/* Prints a library's functions in the order in which a program first calls them. For Scripts/order-functions, on
 * x86-64.
 *
 *     calls LIBRARY FUNCTIONS OUTPUT PROGRAM [ARGUMENT…]
 *
 * FUNCTIONS has a line with address and name for each, as nm prints them. A trap is put at each as soon as the program has
 * the library; the first call takes it away again.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOLDS(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "calls: line %d: %s does not hold\n", __LINE__, #condition);  \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

struct function {
    unsigned long address;
    char *name;
    unsigned char first_byte;
};

static struct function functions[1 << 18];
static size_t count;
static const unsigned char trap = 0xCC;

static int in_order(const void *left, const void *right) {
    unsigned long a = ((const struct function *)left)->address, b = ((const struct function *)right)->address;
    return a < b ? -1 : a > b;
}

static void read_functions(const char *path) {
    FILE *file = fopen(path, "r");
    HOLDS(file != NULL);
    for (struct function *next = functions; fscanf(file, "%lx %ms", &next->address, &next->name) == 2; next++) {
        count++;
        HOLDS(count < sizeof functions / sizeof functions[0]);
    }
    fclose(file);
    qsort(functions, count, sizeof functions[0], in_order);
}

/* Where the library is in the program; 0 until its code is there, since its pages are mapped one after the other. */
static unsigned long find_library(pid_t program, const char *library) {
    char path[64], line[4096];
    snprintf(path, sizeof path, "/proc/%d/maps", program);
    FILE *maps = fopen(path, "r");
    unsigned long start = 0, address;
    int has_code = 0;
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        char permissions[5];
        if (strstr(line, library) == NULL || sscanf(line, "%lx-%*x %4s", &address, permissions) != 2) continue;
        if (start == 0) start = address;
        has_code |= permissions[2] == 'x';
    }
    if (maps != NULL) fclose(maps);
    return has_code ? start : 0;
}

static int set_traps(pid_t program, unsigned long start) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", program);
    int memory = open(path, O_RDWR | O_CLOEXEC);
    HOLDS(memory >= 0);
    for (size_t i = 0; i < count; i++) {
        functions[i].address += start;
        HOLDS(pread(memory, &functions[i].first_byte, 1, (off_t)functions[i].address) == 1);
    }
    for (size_t i = 0; i < count; i++) HOLDS(pwrite(memory, &trap, 1, (off_t)functions[i].address) == 1);
    return memory;
}

int main(int argument_count, char **arguments) {
    HOLDS(argument_count >= 5);
    read_functions(arguments[2]);
    FILE *output = fopen(arguments[3], "w");
    HOLDS(output != NULL);
    pid_t program = fork();
    if (program == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execvp(arguments[4], arguments + 4);
        _exit(127);
    }
    int status, memory = -1;
    HOLDS(waitpid(program, &status, 0) == program && WIFSTOPPED(status));
    ptrace(PTRACE_SETOPTIONS, program, NULL, PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACESYSGOOD);
    ptrace(PTRACE_SYSCALL, program, NULL, NULL);
    for (;;) {
        pid_t thread = waitpid(-1, &status, __WALL);
        HOLDS(thread > 0);
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (thread == program) break;
            continue;
        }
        int event = WSTOPSIG(status), deliver = event == SIGTRAP || event == (SIGTRAP | 0x80) || event == SIGSTOP ? 0 : event;
        if (memory < 0) {
            unsigned long start = find_library(program, arguments[1]);
            if (start != 0) memory = set_traps(program, start);
        } else if (event == SIGTRAP) {
            size_t offset = offsetof(struct user_regs_struct, rip);
            unsigned long stopped = (unsigned long)ptrace(PTRACE_PEEKUSER, thread, offset, NULL) - 1;
            struct function wanted = {.address = stopped}, *called;
            called = bsearch(&wanted, functions, count, sizeof functions[0], in_order);
            if (called != NULL) {
                unsigned char now = 0;
                HOLDS(pread(memory, &now, 1, (off_t)stopped) == 1);
                /* Another thread may have been first. */
                if (now == trap) {
                    HOLDS(pwrite(memory, &called->first_byte, 1, (off_t)stopped) == 1);
                    fprintf(output, "%s\n", called->name);
                }
                ptrace(PTRACE_POKEUSER, thread, offset, stopped);
            }
        }
        ptrace(memory < 0 ? PTRACE_SYSCALL : PTRACE_CONT, thread, NULL, deliver);
    }
    HOLDS(memory >= 0 && fclose(output) == 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
