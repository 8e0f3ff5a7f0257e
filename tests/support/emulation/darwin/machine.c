// The machine and the system: a Mac with an M1, and macOS of the version that the variable MACOS has. The variable
// FEATURE names a processor feature that an M1 lacks and this Mac has.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "system.h"

void prepare_characters(void);

#define ERROR(name) {name, DARWIN_##name},
static const struct {
    int here, there;
} ERRORS[] = {
#include "errors.inc"
};

void unknown(const char *what, long number) {
    fprintf(stderr, "no stand-in for %s: %ld\n", what, number);
    abort();
}

void prepare_system(void) { prepare_characters(); }

int darwin_number(int linux_number) {
    if (!linux_number) return 0;
    for (size_t i = 0; i < sizeof ERRORS / sizeof *ERRORS; i++) {
        if (ERRORS[i].here == linux_number) return ERRORS[i].there;
    }
    unknown("Linux's error", linux_number);
}

int linux_number(int darwin_number) {
    for (size_t i = 0; i < sizeof ERRORS / sizeof *ERRORS; i++) {
        if (ERRORS[i].there == darwin_number) return ERRORS[i].here;
    }
    return -1;
}

// The number is that of the last function that failed, as Darwin counts: it is found when somebody asks.
int *darwin_error(void) {
    static _Thread_local int number;
    if (errno) number = darwin_number(errno);
    errno = 0;
    return &number;
}

char *darwin_strerror(int number) { return strerror(linux_number(number)); }

int darwin_strerror_r(int number, char *text, size_t size) {
    return snprintf(text, size, "%s", strerror(linux_number(number))) < (int)size ? 0 : DARWIN_ERANGE;
}

static int answer(char *value, size_t *size, const void *known, size_t known_size) {
    if (*size < known_size) {
        errno = ENOMEM;
        return -1;
    }
    *size = known_size;
    memcpy(value, known, known_size);
    return 0;
}

// macOS answers with a number about features that it knows, and does not know the others.
static int answer_feature(const char *feature, char *value, size_t *size) {
    const char *has = getenv("FEATURE");
    if (has && !strcmp(has, feature)) return answer(value, size, &(int){1}, sizeof(int));
    errno = ENOENT;
    return -1;
}

int darwin_sysctlbyname(const char *name, char *value, size_t *size, const void *changed, size_t changed_size) {
    static const char FEATURES[] = "hw.optional.arm.";
    if (changed || changed_size) unknown(name, 0);
    if (!strncmp(name, FEATURES, strlen(FEATURES))) return answer_feature(name + strlen(FEATURES), value, size);
    if (strcmp(name, "kern.osproductversion")) unknown(name, 0);
    const char *version = getenv("MACOS") ? getenv("MACOS") : "13.0";
    return answer(value, size, version, strlen(version) + 1);
}

int darwin_uname(char (*names)[DARWIN_SIZE_name]) {
    static const char *const VALUES[] = {"Darwin", "mac", "22.0.0", "Darwin Kernel Version 22.0.0", "arm64"};
    _Static_assert(sizeof VALUES / sizeof *VALUES * DARWIN_SIZE_name == DARWIN_SIZE_utsname, "struct utsname");
    for (size_t i = 0; i < sizeof VALUES / sizeof *VALUES; i++) strcpy(names[i], VALUES[i]);
    return 0;
}

long darwin_sysconf(int name) {
    switch (name) {
    case DARWIN__SC_PAGESIZE: return PAGE;
    case DARWIN__SC_NPROCESSORS_CONF: return sysconf(_SC_NPROCESSORS_CONF);
    case DARWIN__SC_NPROCESSORS_ONLN: return sysconf(_SC_NPROCESSORS_ONLN);
    default: unknown("sysconf of", name);
    }
}

int darwin_clock_gettime(int clock, struct timespec *time) {
    switch (clock) {
    case DARWIN_CLOCK_REALTIME: return clock_gettime(CLOCK_REALTIME, time);
    case DARWIN_CLOCK_MONOTONIC: return clock_gettime(CLOCK_MONOTONIC, time);
    case DARWIN_CLOCK_MONOTONIC_RAW:
    case DARWIN_CLOCK_UPTIME_RAW: return clock_gettime(CLOCK_MONOTONIC_RAW, time);
    case DARWIN_CLOCK_PROCESS_CPUTIME_ID: return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, time);
    case DARWIN_CLOCK_THREAD_CPUTIME_ID: return clock_gettime(CLOCK_THREAD_CPUTIME_ID, time);
    default: unknown("clock_gettime of", clock);
    }
}

int darwin_waitpid(int process, int *status, int options) {
    if (options) unknown("waitpid with the options", options);
    return waitpid(process, status, 0);
}

typedef struct {
    uint64_t status, control;
} FloatingPoint;
_Static_assert(sizeof(FloatingPoint) == DARWIN_SIZE_fenv, "fenv_t");

const FloatingPoint darwin_default_floating_point;

int darwin_fegetenv(FloatingPoint *found) {
    __asm__ volatile("mrs %0, fpsr\n\tmrs %1, fpcr" : "=r"(found->status), "=r"(found->control));
    return 0;
}

int darwin_fesetenv(const FloatingPoint *wanted) {
    __asm__ volatile("msr fpsr, %0\n\tmsr fpcr, %1" : : "r"(wanted->status), "r"(wanted->control));
    return 0;
}

typedef struct {
    double sine, cosine;
} Angle;

Angle darwin_sincos(double angle) { return (Angle){sin(angle), cos(angle)}; }

typedef struct {
    float sine, cosine;
} ShortAngle;

ShortAngle darwin_sincosf(float angle) { return (ShortAngle){sinf(angle), cosf(angle)}; }

void darwin_bzero(void *place, size_t size) { memset(place, 0, size); }

void darwin_memset_pattern16(char *place, const char *pattern, size_t size) {
    for (size_t i = 0; i < size; i++) place[i] = pattern[i % 16];
}

void darwin_exit(int status) {
    run_thread_exit();
    exit(status);
}
