// Threads. Darwin's objects begin with a number that says what they are; behind it is the address of Linux's object.
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "system.h"

typedef struct {
    int64_t kind;
    _Atomic(void *) real;
} Object;

enum { MADE_MUTEX = 0x4d757458, MADE_COND = 0x636f6e64, MADE_LOCK = 0x6c6f636b, MADE_ATTRIBUTES = 0x4d545841 };

static void *new_mutex(int kind) {
    pthread_mutexattr_t attributes;
    pthread_mutex_t *made = malloc(sizeof *made);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, kind);
    pthread_mutex_init(made, &attributes);
    return made;
}

static void *new_cond(void) {
    pthread_cond_t *made = malloc(sizeof *made);
    pthread_cond_init(made, NULL);
    return made;
}

static void *new_lock(void) {
    pthread_rwlock_t *made = malloc(sizeof *made);
    pthread_rwlock_init(made, NULL);
    return made;
}

static void *new_real(int64_t kind) {
    switch (kind) {
    case DARWIN__PTHREAD_MUTEX_SIG_init: return new_mutex(PTHREAD_MUTEX_NORMAL);
    case DARWIN__PTHREAD_RECURSIVE_MUTEX_SIG_init: return new_mutex(PTHREAD_MUTEX_RECURSIVE);
    case DARWIN__PTHREAD_ERRORCHECK_MUTEX_SIG_init: return new_mutex(PTHREAD_MUTEX_ERRORCHECK);
    case DARWIN__PTHREAD_COND_SIG_init: return new_cond();
    case DARWIN__PTHREAD_RWLOCK_SIG_init: return new_lock();
    default: return NULL;
    }
}

// Returns Linux's object, which the first use makes of one that was only written down; null for what is no object. A
// lock would stay locked in the child of a process.
static void *real_of(Object *object, int64_t made) {
    int64_t kind = __atomic_load_n(&object->kind, __ATOMIC_ACQUIRE);
    if (kind == made) return object->real;
    void *real = new_real(kind), *none = NULL;
    if (!real) return __atomic_load_n(&object->kind, __ATOMIC_ACQUIRE) == made ? object->real : NULL;
    if (atomic_compare_exchange_strong(&object->real, &none, real)) {
        __atomic_store_n(&object->kind, made, __ATOMIC_RELEASE);
        return real;
    }
    free(real);
    return none;
}

static int forget(Object *object, int64_t made, int (*destroy)(void *)) {
    void *real = real_of(object, made);
    int error = real ? darwin_number(destroy(real)) : DARWIN_EINVAL;
    if (!error) {
        free(real);
        object->kind = 0;
    }
    return error;
}

#define CALL(function, object, made, type)                                                     \
    int darwin_##function(Object *object) {                                                    \
        type *real = real_of(object, made);                                                    \
        return real ? darwin_number(function(real)) : DARWIN_EINVAL;                           \
    }

CALL(pthread_mutex_lock, object, MADE_MUTEX, pthread_mutex_t)
CALL(pthread_mutex_trylock, object, MADE_MUTEX, pthread_mutex_t)
CALL(pthread_mutex_unlock, object, MADE_MUTEX, pthread_mutex_t)
CALL(pthread_cond_signal, object, MADE_COND, pthread_cond_t)
CALL(pthread_cond_broadcast, object, MADE_COND, pthread_cond_t)
CALL(pthread_rwlock_rdlock, object, MADE_LOCK, pthread_rwlock_t)
CALL(pthread_rwlock_wrlock, object, MADE_LOCK, pthread_rwlock_t)
CALL(pthread_rwlock_unlock, object, MADE_LOCK, pthread_rwlock_t)

int darwin_pthread_mutexattr_init(Object *attributes) {
    _Static_assert(sizeof *attributes == DARWIN_SIZE_mutexattr, "pthread_mutexattr_t");
    *attributes = (Object){MADE_ATTRIBUTES, (void *)(intptr_t)DARWIN__PTHREAD_MUTEX_SIG_init};
    return 0;
}

int darwin_pthread_mutexattr_settype(Object *attributes, int kind) {
    if (attributes->kind != MADE_ATTRIBUTES) return DARWIN_EINVAL;
    int64_t written = kind == DARWIN_PTHREAD_MUTEX_NORMAL       ? DARWIN__PTHREAD_MUTEX_SIG_init
                      : kind == DARWIN_PTHREAD_MUTEX_RECURSIVE  ? DARWIN__PTHREAD_RECURSIVE_MUTEX_SIG_init
                      : kind == DARWIN_PTHREAD_MUTEX_ERRORCHECK ? DARWIN__PTHREAD_ERRORCHECK_MUTEX_SIG_init
                                                                : 0;
    attributes->real = (void *)(intptr_t)written;
    return written ? 0 : DARWIN_EINVAL;
}

int darwin_pthread_mutexattr_destroy(Object *attributes) {
    attributes->kind = 0;
    return 0;
}

int darwin_pthread_mutex_init(Object *object, const Object *attributes) {
    if (attributes && attributes->kind != MADE_ATTRIBUTES) return DARWIN_EINVAL;
    *object = (Object){attributes ? (intptr_t)attributes->real : DARWIN__PTHREAD_MUTEX_SIG_init, NULL};
    return 0;
}

int darwin_pthread_mutex_destroy(Object *object) {
    return forget(object, MADE_MUTEX, (int (*)(void *))pthread_mutex_destroy);
}

int darwin_pthread_cond_init(Object *object, const void *attributes) {
    if (attributes) unknown("pthread_cond_init with attributes", 0);
    *object = (Object){DARWIN__PTHREAD_COND_SIG_init, NULL};
    return 0;
}

int darwin_pthread_cond_destroy(Object *object) {
    return forget(object, MADE_COND, (int (*)(void *))pthread_cond_destroy);
}

int darwin_pthread_cond_wait(Object *object, Object *mutex) {
    pthread_cond_t *real = real_of(object, MADE_COND);
    pthread_mutex_t *held = real_of(mutex, MADE_MUTEX);
    return real && held ? darwin_number(pthread_cond_wait(real, held)) : DARWIN_EINVAL;
}

int darwin_pthread_cond_timedwait(Object *object, Object *mutex, const struct timespec *end) {
    pthread_cond_t *real = real_of(object, MADE_COND);
    pthread_mutex_t *held = real_of(mutex, MADE_MUTEX);
    return real && held ? darwin_number(pthread_cond_timedwait(real, held, end)) : DARWIN_EINVAL;
}

int darwin_pthread_create(pthread_t *thread, const void *attributes, void *(*function)(void *), void *argument) {
    if (attributes) unknown("pthread_create with attributes", 0);
    return darwin_number(pthread_create(thread, NULL, function, argument));
}

int darwin_pthread_join(pthread_t thread, void **result) { return darwin_number(pthread_join(thread, result)); }

int darwin_pthread_detach(pthread_t thread) { return darwin_number(pthread_detach(thread)); }

uint32_t darwin_pthread_mach_thread_np(pthread_t thread) {
    if (thread != pthread_self()) unknown("pthread_mach_thread_np of another thread", 0);
    return syscall(SYS_gettid);
}

int darwin_pthread_key_create(uint64_t *key, void (*destroy)(void *)) {
    _Static_assert(sizeof *key == DARWIN_SIZE_key, "pthread_key_t");
    pthread_key_t made;
    int error = pthread_key_create(&made, destroy);
    if (!error) *key = made;
    return darwin_number(error);
}

void *darwin_pthread_getspecific(uint64_t key) { return pthread_getspecific(key); }

int darwin_pthread_setspecific(uint64_t key, const void *value) {
    return darwin_number(pthread_setspecific(key, value));
}
