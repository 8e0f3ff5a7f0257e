// Makes musl behave as Android's C library where that has another form, or refuses more: see stand_ins/bionic.h.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ALL_CATEGORIES = 0x1fbf, NAME_OF_PATH_MAX = 5, NAME_OF_PAGESIZE = 0x27, NAME_OF_PROCESSORS = 0x61 };

const fenv_t __fe_dfl_env;

int *__errno(void) { return &errno; }

int android_get_device_api_level(void) {
    const char *level = getenv("ANDROID_API_LEVEL");
    return level ? atoi(level) : 29;
}

int pthread_gettid_np(pthread_t thread) { return thread == pthread_self() ? (int)syscall(SYS_gettid) : -1; }

// Attributes have 8 bytes there, and musl's have 4.
int pthread_mutexattr_init(pthread_mutexattr_t *attributes) {
    memset(attributes, 0, 8);
    return 0;
}

// It reads the object, where musl takes a number for its address.
int fesetenv(const fenv_t *environment) {
    if (environment == FE_DFL_ENV) abort();
    return ((int (*)(const fenv_t *))dlsym(RTLD_NEXT, "fesetenv"))(environment);
}

long sysconf(int name) {
    if (name != NAME_OF_PAGESIZE && name != NAME_OF_PROCESSORS) abort();
    name = name == NAME_OF_PAGESIZE ? _SC_PAGESIZE : _SC_NPROCESSORS_ONLN;
    return ((long (*)(int))dlsym(RTLD_NEXT, "sysconf"))(name);
}

long pathconf(const char *path, int name) {
    if (name != NAME_OF_PATH_MAX) abort();
    return ((long (*)(const char *, int))dlsym(RTLD_NEXT, "pathconf"))(path, _PC_PATH_MAX);
}

locale_t newlocale(int categories, const char *name, locale_t base) {
    if (categories & ~ALL_CATEGORIES) abort();
    if (categories == ALL_CATEGORIES) categories = LC_ALL_MASK;
    return ((locale_t(*)(int, const char *, locale_t))dlsym(RTLD_NEXT, "newlocale"))(categories, name, base);
}
