// What has no stand-in: whoever calls it ends the process, with its name.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "loader.h"

enum { MOST_STUBS = 256 };
static const char *stub_names[MOST_STUBS];
static uint32_t *stubs;
static int stub_count;

static _Noreturn void end(const char *symbol) {
    fprintf(stderr, "no stand-in for %s\n", symbol);
    abort();
}

// Returns a function that ends the process with the name of what is not there.
void *stub_of(const char *symbol) {
    enum { WORDS = 8, LOAD_X0 = 0x58000080, LOAD_X16 = 0x580000b0, JUMP_X16 = 0xd61f0200 };
    for (int i = 0; i < stub_count; i++) {
        if (!strcmp(stub_names[i], symbol)) return stubs + WORDS * i;
    }
    if (!stubs) {
        int protection = PROT_READ | PROT_WRITE | PROT_EXEC;
        stubs = mmap(NULL, MOST_STUBS * WORDS * 4, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    if (stubs == MAP_FAILED || stub_count == MOST_STUBS) refuse("too many names without a stand-in");
    if (getenv("UNPROVIDED")) fprintf(stderr, "not provided: %s\n", symbol);
    uint32_t *stub = stubs + WORDS * stub_count;
    stub_names[stub_count] = strdup(symbol);
    const uint64_t addresses[] = {(uint64_t)stub_names[stub_count++], (uint64_t)end};
    const uint32_t code[] = {LOAD_X0, LOAD_X16, JUMP_X16};
    memcpy(stub, code, sizeof code);
    memcpy(stub + 4, addresses, sizeof addresses);
    __builtin___clear_cache((char *)stub, (char *)(stub + WORDS));
    return stub;
}
