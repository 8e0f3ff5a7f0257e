/* Preloaded into a process: memory fresh from the allocator holds a float32 pattern instead of zeros.
 *
 * FILL_PATTERN is the pattern as an unsigned number. posix_memalign is where TVM's storage and workspaces
 * come from, malloc where numpy's arrays do.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { SMALLEST = 64 };

extern void *__libc_malloc(size_t size);

static size_t aligned_bytes;

/* How many bytes posix_memalign and aligned_alloc have handed out filled. */
size_t filled_aligned_bytes(void) { return aligned_bytes; }

static void fill(void *memory, size_t size) {
  static int ready;
  static uint32_t pattern;
  if (!ready) {
    const char *text = getenv("FILL_PATTERN");
    pattern = text ? (uint32_t)strtoul(text, NULL, 0) : 0;
    ready = 1;
  }
  if (memory == NULL || size < SMALLEST) return;
  /* volatile: the compiler would make a call of memset or calloc out of it. */
  volatile uint32_t *words = memory;
  for (size_t i = 0; i < size / sizeof(uint32_t); ++i) words[i] = pattern;
}

void *malloc(size_t size) {
  void *memory = __libc_malloc(size);
  fill(memory, size);
  return memory;
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
  static int (*original)(void **, size_t, size_t);
  if (!original) original = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
  int failed = original(memory, alignment, size);
  if (!failed) {
    fill(*memory, size);
    __atomic_fetch_add(&aligned_bytes, size, __ATOMIC_RELAXED);
  }
  return failed;
}

void *aligned_alloc(size_t alignment, size_t size) {
  void *memory = NULL;
  return posix_memalign(&memory, alignment < sizeof(void *) ? sizeof(void *) : alignment, size) ? NULL : memory;
}
