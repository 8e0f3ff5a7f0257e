/* Preloaded into a process: threads that the library LATE starts begin late, and after `refuse_the_loader(1)`
 * the dynamic loader gets no memory, which it needs for what a thread keeps for itself in a library that it has loaded.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { LATE_BY = 200000, LOADER = 1 << 18 }; /* microseconds; bytes of the loader's code, at most */

extern void *__libc_malloc(size_t size);

typedef struct {
  void *(*function)(void *);
  void *argument;
} Start;

static volatile int refused;

void refuse_the_loader(int refuse) { refused = refuse; }

void *malloc(size_t size) {
  uintptr_t place = (uintptr_t)__builtin_return_address(0) - getauxval(AT_BASE);
  return refused && place < LOADER ? NULL : __libc_malloc(size);
}

static void *begin_late(void *given) {
  Start start = *(Start *)given;
  free(given);
  usleep(LATE_BY);
  return start.function(start.argument);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument) {
  int (*original)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
      (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT, "pthread_create");
  Dl_info library;
  if (!dladdr(__builtin_return_address(0), &library) || !strstr(library.dli_fname, getenv("LATE")))
    return original(thread, attributes, function, argument);
  Start *start = malloc(sizeof *start);
  start->function = function;
  start->argument = argument;
  return original(thread, attributes, begin_late, start);
}
