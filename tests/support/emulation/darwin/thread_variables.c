// Variables of which each thread has its own: a library's are one block of memory, made at the thread's first use.
#include <pthread.h>
#include <stdlib.h>

#include "system.h"

typedef struct {
    void *(*find)(void *);  // thread_variable
    uint64_t image, offset;
} Variable;

typedef struct Ending {
    void (*destroy)(void *);
    void *object;
    struct Ending *next;
} Ending;

enum { ROUNDS = 3 };  // after which the other keys' destructors have run

typedef struct {
    Image *image;
    int rounds;
    _Alignas(16) char content[];
} Block;

void *thread_variable(void *);
static pthread_key_t endings;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void run_endings(void *first) {
    for (Ending *each = first; each; each = first) {
        // One that is added meanwhile is next.
        pthread_setspecific(endings, each->next);
        each->destroy(each->object);
        free(each);
        first = pthread_getspecific(endings);
    }
}

static void make_endings(void) { pthread_key_create(&endings, run_endings); }

void darwin_tlv_atexit(void (*destroy)(void *), void *object) {
    pthread_once(&once, make_endings);
    Ending *made = malloc(sizeof *made);
    *made = (Ending){destroy, object, pthread_getspecific(endings)};
    pthread_setspecific(endings, made);
}

void run_thread_exit(void) {
    pthread_once(&once, make_endings);
    run_endings(pthread_getspecific(endings));
}

static void free_block(void *of_thread) {
    Block *block = of_thread;
    if (block->rounds++ == ROUNDS) free(block);
    else pthread_setspecific(block->image->thread_key, block);
}

static void look_at(Image *image, const Section *section) {
    uint32_t kind = section->flags & DARWIN_SECTION_TYPE;
    if (kind != DARWIN_S_THREAD_LOCAL_REGULAR && kind != DARWIN_S_THREAD_LOCAL_ZEROFILL) return;
    uint64_t end = section->address + section->size, before = image->thread_start + image->thread_size;
    if (!image->thread_size || section->address < image->thread_start) image->thread_start = section->address;
    image->thread_size = (image->thread_size && before > end ? before : end) - image->thread_start;
}

static void prepare(Image *image, const Section *section) {
    if ((section->flags & DARWIN_SECTION_TYPE) != DARWIN_S_THREAD_LOCAL_VARIABLES) return;
    Variable *variables = (Variable *)(section->address + image->slide);
    if ((uintptr_t)variables % 8) refuse("%s: thread variables are not at a multiple of 8", image->path);
    for (size_t i = 0; i < section->size / sizeof *variables; i++) {
        variables[i].find = thread_variable;
        variables[i].image = (uint64_t)image;
    }
}

void prepare_thread_variables(Image *image) {
    each_section(image, look_at);
    if (!image->thread_size) return;
    pthread_once(&once, make_endings);
    pthread_key_create(&image->thread_key, free_block);
    each_section(image, prepare);
}

void *find_thread_variable(const Variable *variable) {
    Image *image = (Image *)variable->image;
    Block *block = pthread_getspecific(image->thread_key);
    if (!block) {
        block = malloc(sizeof *block + image->thread_size);
        block->image = image;
        block->rounds = 0;
        memcpy(block->content, (char *)(image->thread_start + image->slide), image->thread_size);
        pthread_setspecific(image->thread_key, block);
    }
    return block->content + variable->offset;
}
