"""How the C library for Android is compiled and linked: zig has neither Android's headers nor its libraries.

It is compiled with musl's headers and a header of the differences (`stand_ins/bionic.h`), and linked with
libraries that have only the names of Android's functions. A function that is not among them fails the link.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from exporter.compiler.link import LARGE_PAGES, link_stub
from exporter.native.cxx_library import cxx_units
from exporter.native.zig import OPTIMISED, STAND_INS, Unit, hashed

ZIG_TARGET = "aarch64-linux-musl"
# Android keeps this register for itself.
_CPU = "-mcpu=generic+reserve_x18"
_INCLUDED = (f"-I{STAND_INS}", "-include", str(STAND_INS / "bionic.h"))
FLAGS = (_CPU, "-D__ANDROID__", "-D__ANDROID_API__=29", *_INCLUDED)
_LINKED = (
    *(_CPU, "-nostdlib", "-lunwind", "-rtlib=compiler-rt", "-Wl,--no-undefined", "-Wl,--as-needed"),
    LARGE_PAGES,
)
_FUNCTIONS = {
    "libc.so": """
        __ctype_get_mb_cur_max __cxa_thread_atexit_impl __errno abort access aligned_alloc
        android_get_device_api_level atoi calloc catclose catgets catopen clock_gettime close exit fchmodat
        fclose fcntl ferror fflush fopen fprintf fputc fputwc fread free freelocale fseek fseeko fstat
        fstatat ftello fwrite getauxval getc getcwd getenv getpid getwc isalnum isspace isxdigit localtime
        lstat malloc mbrlen mbrtowc mbsnrtowcs mbsrtowcs mbtowc memchr mkdtemp mmap munmap newlocale open
        openat pathconf posix_memalign pread pthread_atfork pthread_cond_broadcast pthread_cond_destroy
        pthread_cond_signal pthread_cond_timedwait pthread_cond_wait pthread_create pthread_detach
        pthread_equal pthread_gettid_np pthread_join pthread_key_create pthread_mutex_destroy
        pthread_mutex_init pthread_mutex_lock pthread_mutex_unlock pthread_mutexattr_destroy
        pthread_mutexattr_init pthread_mutexattr_settype pthread_rwlock_rdlock pthread_rwlock_unlock
        pthread_rwlock_wrlock pthread_self pthread_setspecific read realloc realpath remove rename rmdir
        sched_getaffinity sched_setaffinity sched_yield setbuf snprintf sscanf stat stderr stdin stdout
        strcmp strerror strerror_r strftime_l strlen strncmp strtod strtod_l strtof_l strtoimax strtol
        strtold_l strtoll strtoul syscall sysconf sysinfo time tolower toupper uname ungetc ungetwc unlink
        uselocale vasprintf vfprintf vsnprintf wcrtomb wcslen wcsnrtombs wmemchr write
    """,
    "libm.so": "__fe_dfl_env fegetenv fesetenv modf pow",
    "libdl.so": "dl_iterate_phdr dladdr dlclose dlerror dlopen dlsym",
}
"""Functions of Android 10 that the C library, or the one for Java, calls, and its variables, by library."""


def units() -> Iterator[Unit]:
    """Yields the sources of the C++ library, and the function of musl's that zig's libunwind calls."""
    flags = (*FLAGS, "-fPIC", "-pthread")
    facts = hashed(sorted(STAND_INS.rglob("*.h")))
    for unit in cxx_units(flags, (), has_files=True):
        yield unit._replace(facts=unit.facts + facts)
    yield Unit((STAND_INS / "errno_location.cpp",), (*flags, *OPTIMISED, "-fvisibility=hidden"), facts)


def linked(place: Path) -> tuple[str, ...]:
    """Returns the linker's arguments; files that they name are in `place`."""
    return (
        *_LINKED,
        *(link_stub(name, names.split(), ZIG_TARGET, place) for name, names in _FUNCTIONS.items()),
    )
