// Finds what macOS's C library has.
#include <string.h>

#include "loader.h"

// Headers declare some of them with types, which do not matter here.
#define SAME(name) extern char of_##name[] __asm__(#name);
#define OWN(name, function) SAME(function)
#include "names.inc"
#undef SAME
#undef OWN

#define SAME(name) {"_" #name, of_##name},
#define OWN(name, function) {name, of_##function},
static const struct {
    const char *name;
    void *place;
} NAMES[] = {
#include "names.inc"
};

void *find_in_system(const char *symbol) {
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (!strcmp(NAMES[i].name, symbol)) return NAMES[i].place;
    }
    return NULL;
}
