// Numbers of Darwin's headers: compiled for macOS to assembler, whose comments become `facts.h`.
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <mach-o/loader.h>
#include <pthread.h>
#include <runetype.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define FACT(name) __asm__ volatile("; fact " #name " %c0" : : "i"((long)(name)));
#define SIZE(name, type) __asm__ volatile("; fact SIZE_" #name " %c0" : : "i"((long)sizeof(type)));
#define PLACE(name, type, field) \
    __asm__ volatile("; fact AT_" #name "_" #field " %c0" : : "i"((long)offsetof(type, field)));

#define ERROR FACT
void errors(void) {
#include "errors.inc"
}

void of_files(void) {
    FACT(O_RDONLY) FACT(O_WRONLY) FACT(O_RDWR) FACT(O_NONBLOCK) FACT(O_APPEND) FACT(O_NOFOLLOW) FACT(O_CREAT)
    FACT(O_TRUNC) FACT(O_EXCL) FACT(O_DIRECTORY) FACT(O_CLOEXEC)
    FACT(AT_FDCWD) FACT(AT_SYMLINK_NOFOLLOW) FACT(AT_SYMLINK_FOLLOW) FACT(AT_REMOVEDIR)
    FACT(MAP_SHARED) FACT(MAP_PRIVATE) FACT(MAP_FIXED) FACT(MAP_ANON) FACT(MAP_NORESERVE)
    SIZE(stat, struct stat)
    PLACE(stat, struct stat, st_mode) PLACE(stat, struct stat, st_ino) PLACE(stat, struct stat, st_uid)
    PLACE(stat, struct stat, st_atimespec) PLACE(stat, struct stat, st_size) PLACE(stat, struct stat, st_blksize)
}

void of_threads(void) {
    FACT(PTHREAD_MUTEX_NORMAL) FACT(PTHREAD_MUTEX_ERRORCHECK) FACT(PTHREAD_MUTEX_RECURSIVE)
    FACT(_PTHREAD_MUTEX_SIG_init) FACT(_PTHREAD_RECURSIVE_MUTEX_SIG_init) FACT(_PTHREAD_ERRORCHECK_MUTEX_SIG_init)
    FACT(_PTHREAD_COND_SIG_init) FACT(_PTHREAD_RWLOCK_SIG_init)
    SIZE(mutex, pthread_mutex_t) SIZE(mutexattr, pthread_mutexattr_t) SIZE(cond, pthread_cond_t)
    SIZE(rwlock, pthread_rwlock_t) SIZE(key, pthread_key_t)
}

void of_machines(void) {
    FACT(RTLD_LAZY) FACT(RTLD_NOW) FACT(RTLD_LOCAL) FACT(RTLD_GLOBAL) FACT(RTLD_NOLOAD) FACT(RTLD_NODELETE)
    FACT(RTLD_DEFAULT)
    FACT(CLOCK_REALTIME) FACT(CLOCK_MONOTONIC) FACT(CLOCK_MONOTONIC_RAW) FACT(CLOCK_UPTIME_RAW)
    FACT(CLOCK_PROCESS_CPUTIME_ID) FACT(CLOCK_THREAD_CPUTIME_ID)
    FACT(_SC_PAGESIZE) FACT(_SC_NPROCESSORS_CONF) FACT(_SC_NPROCESSORS_ONLN)
    SIZE(fenv, fenv_t) SIZE(name, ((struct utsname *)0)->sysname) SIZE(utsname, struct utsname)
    SIZE(tm, struct tm) PLACE(tm, struct tm, tm_zone) SIZE(dlinfo, Dl_info) SIZE(long_double, long double)
}

void of_characters(void) {
    FACT(_CTYPE_A) FACT(_CTYPE_C) FACT(_CTYPE_D) FACT(_CTYPE_G) FACT(_CTYPE_L) FACT(_CTYPE_P) FACT(_CTYPE_S)
    FACT(_CTYPE_U) FACT(_CTYPE_X) FACT(_CTYPE_B) FACT(_CTYPE_R) FACT(_CTYPE_SW1)
    SIZE(runes, _RuneLocale)
    PLACE(runes, _RuneLocale, __runetype) PLACE(runes, _RuneLocale, __maplower) PLACE(runes, _RuneLocale, __mapupper)
}

void of_libraries(void) {
    FACT(MH_MAGIC_64) FACT(CPU_TYPE_ARM64) FACT(MH_EXECUTE) FACT(MH_DYLIB)
    FACT(MH_WEAK_DEFINES) FACT(MH_HAS_TLV_DESCRIPTORS)
    FACT(LC_SEGMENT_64) FACT(LC_DYLD_INFO_ONLY) FACT(LC_LOAD_DYLIB) FACT(LC_LOAD_WEAK_DYLIB) FACT(LC_REEXPORT_DYLIB)
    FACT(LC_MAIN) FACT(LC_RPATH) FACT(LC_DYLD_CHAINED_FIXUPS) FACT(LC_BUILD_VERSION) FACT(LC_CODE_SIGNATURE)
    FACT(SG_READ_ONLY) FACT(SECTION_TYPE) FACT(S_MOD_INIT_FUNC_POINTERS) FACT(S_INIT_FUNC_OFFSETS)
    FACT(S_THREAD_LOCAL_REGULAR) FACT(S_THREAD_LOCAL_ZEROFILL) FACT(S_THREAD_LOCAL_VARIABLES)
    SIZE(mach_header, struct mach_header_64) SIZE(segment, struct segment_command_64) SIZE(section, struct section_64)
    SIZE(dyld_info, struct dyld_info_command)
    FACT(REBASE_OPCODE_DONE) FACT(REBASE_OPCODE_SET_TYPE_IMM) FACT(REBASE_OPCODE_SET_SEGMENT_AND_OFFSET_ULEB)
    FACT(REBASE_OPCODE_ADD_ADDR_ULEB) FACT(REBASE_OPCODE_ADD_ADDR_IMM_SCALED) FACT(REBASE_OPCODE_DO_REBASE_IMM_TIMES)
    FACT(REBASE_OPCODE_DO_REBASE_ULEB_TIMES) FACT(REBASE_OPCODE_DO_REBASE_ADD_ADDR_ULEB)
    FACT(REBASE_OPCODE_DO_REBASE_ULEB_TIMES_SKIPPING_ULEB)
    FACT(BIND_OPCODE_DONE) FACT(BIND_OPCODE_SET_DYLIB_ORDINAL_IMM) FACT(BIND_OPCODE_SET_DYLIB_ORDINAL_ULEB)
    FACT(BIND_OPCODE_SET_DYLIB_SPECIAL_IMM) FACT(BIND_OPCODE_SET_SYMBOL_TRAILING_FLAGS_IMM)
    FACT(BIND_OPCODE_SET_TYPE_IMM) FACT(BIND_OPCODE_SET_ADDEND_SLEB)
    FACT(BIND_OPCODE_SET_SEGMENT_AND_OFFSET_ULEB) FACT(BIND_OPCODE_ADD_ADDR_ULEB) FACT(BIND_OPCODE_DO_BIND)
    FACT(BIND_OPCODE_DO_BIND_ADD_ADDR_ULEB) FACT(BIND_OPCODE_DO_BIND_ADD_ADDR_IMM_SCALED)
    FACT(BIND_OPCODE_DO_BIND_ULEB_TIMES_SKIPPING_ULEB)
    FACT(BIND_SPECIAL_DYLIB_FLAT_LOOKUP) FACT(BIND_SPECIAL_DYLIB_MAIN_EXECUTABLE) FACT(BIND_SYMBOL_FLAGS_WEAK_IMPORT)
    FACT(EXPORT_SYMBOL_FLAGS_KIND_MASK) FACT(EXPORT_SYMBOL_FLAGS_REEXPORT) FACT(EXPORT_SYMBOL_FLAGS_STUB_AND_RESOLVER)
}
