/* A disk whose flush takes FLUSH_MICROSECONDS longer: preload it to see what a benchmark does on slower disks. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static void wait_a_little(void) {
    static long delay = -1;
    if (delay < 0) {
        const char *told = getenv("FLUSH_MICROSECONDS");
        delay = told ? atol(told) : 0;
    }
    if (delay > 0) usleep((useconds_t)delay);
}

int fsync(int file) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    wait_a_little();
    return real(file);
}

int fdatasync(int file) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    wait_a_little();
    return real(file);
}
