// Another library of a process with C++ in it, such as macOS's own, which nearly every process has: it shows functions
// and tables under the names that ours has inside. Whoever takes these for its own ends the process.
#include <stdlib.h>

#define FUNCTION(number, name) \
    __attribute__((weak, visibility("default"))) void *function_##number(void) __asm__(name); \
    void *function_##number(void) { abort(); }
#define TABLE(number, name) \
    __attribute__((weak, visibility("default"))) extern void *table_##number[32] __asm__(name); \
    void *table_##number[32] = {(void *)8, (void *)8, (void *)8, (void *)8};

FUNCTION(1, "__Znwm")
FUNCTION(2, "__ZdlPv")
FUNCTION(3, "__ZNSt3__112basic_stringIcNS_11char_traitsIcEENS_9allocatorIcEEED1Ev")
TABLE(1, "__ZTVNSt3__115basic_stringbufIcNS_11char_traitsIcEENS_9allocatorIcEEEE")
TABLE(2, "__ZTTNSt3__119basic_istringstreamIcNS_11char_traitsIcEENS_9allocatorIcEEEE")
TABLE(3, "__ZTTNSt3__119basic_ostringstreamIcNS_11char_traitsIcEENS_9allocatorIcEEEE")
TABLE(4, "__ZTVNSt3__113basic_ostreamIcNS_11char_traitsIcEEEE")
TABLE(5, "__ZNSt3__17num_putIcNS_19ostreambuf_iteratorIcNS_11char_traitsIcEEEEE2idE")
TABLE(6, "__ZTIN3tvm3ffi5ErrorE")
TABLE(7, "__ZTIN6kokoro5ErrorE")
