// The stand-in for macOS's C library: what its sources share.
#pragma once

#include <stdarg.h>
#include <string.h>

#include "loader.h"

typedef struct {
    const char *path;
    void *start;
    const char *symbol;
    void *place;
} AddressFacts;
_Static_assert(sizeof(AddressFacts) == DARWIN_SIZE_dlinfo, "Dl_info");

typedef struct {
    const void *header, *dwarf;
    uintptr_t dwarf_size;
    const void *compact;
    uintptr_t compact_size;
} UnwindSections;  // as libunwind declares it

// A list of arguments whose next ones are at `from`: there all of a function's unnamed ones are, each in 8 bytes.
#define LIST(name, from)                                                   \
    va_list name;                                                          \
    {                                                                      \
        struct {                                                           \
            void *stack, *general, *vectors;                               \
            int general_left, vectors_left;                                \
        } made = {from, NULL, NULL, 0, 0};                                 \
        _Static_assert(sizeof made == sizeof name, "AAPCS64's va_list");   \
        memcpy(&name, &made, sizeof made);                                 \
    }

// Ends the process: what is asked for has no stand-in.
_Noreturn void unknown(const char *what, long number);
// Refuses another locale than C's, which is null.
void check_locale(const void *locale);
void prepare_system(void);
_Noreturn void darwin_exit(int status);
