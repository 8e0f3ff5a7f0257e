"""How the framework for iOS is compiled and linked: zig has neither iOS's headers nor its libraries.

It is compiled with zig's headers of macOS, which are those of iOS too and say what iOS lacks. It is linked
with a list of functions of iOS's C library: one that is not among them fails the link. The C++ library is
inside.
"""

from __future__ import annotations

from pathlib import Path

from exporter.compiler.link import link_ios_system
from exporter.native.zig import package_directory

FUNCTIONS = """
    __DefaultRuneLocale __FE_DFL_ENV __Unwind_DeleteException __Unwind_GetIP
    __Unwind_GetLanguageSpecificData __Unwind_GetRegionStart __Unwind_RaiseException __Unwind_Resume
    __Unwind_SetGR __Unwind_SetIP ____mb_cur_max_l ___error ___exp10 ___maskrune ___sincos_stret
    ___stderrp ___stdinp ___stdoutp ___tolower ___toupper __tlv_atexit __tlv_bootstrap _abort
    _aligned_alloc _arc4random _asprintf_l _atoi _bzero _calloc _catclose _catgets _catopen
    _clock_gettime _close _dlopen _dlsym _exit _exp _expf _fchmodat _fclose _fegetenv _ferror
    _fesetenv _fflush _fmodf _fopen _fputc _fputwc _fread _free _freelocale _fseek _fseeko _fstat
    _fstatat _ftello _fwrite _getc _getcwd _getenv _getpid _getwc _localtime _log _lstat _malloc
    _mbrlen_l _mbrtowc_l _mbsnrtowcs_l _mbsrtowcs_l _mbtowc_l _memchr _memcmp _memcpy _memmove
    _memset _mmap _modf _munmap _openat _posix_memalign _powf _pread _pthread_atfork
    _pthread_cond_broadcast _pthread_cond_destroy _pthread_cond_signal _pthread_cond_timedwait
    _pthread_cond_wait _pthread_create _pthread_detach _pthread_join _pthread_key_create
    _pthread_mach_thread_np _pthread_mutex_destroy _pthread_mutex_init _pthread_mutex_lock
    _pthread_mutex_unlock _pthread_mutexattr_destroy _pthread_mutexattr_init
    _pthread_mutexattr_settype _pthread_self _pthread_setspecific _realloc _realpath$DARWIN_EXTSN
    _remove _rename _sched_yield _setbuf _snprintf _snprintf_l _sscanf _stat _strcmp _strerror
    _strerror_r _strftime_l _strlen _strncmp _strtod _strtod_l _strtof_l _strtoimax _strtol
    _strtold_l _strtoll _strtoul _sysconf _sysctlbyname _time _uname _ungetc _ungetwc _vfprintf
    _vsnprintf _wcrtomb_l _wcslen _wcsnrtombs_l _wmemchr dyld_stub_binder
""".split()
"""Functions that the library and compiled stages call, and variables: iOS 14.5 and 15.6 have all."""


def flags() -> tuple[str, ...]:
    """Returns the flags of all code for iOS.

    Raises:
        LinkerMissingError: zig is not installed.
    """
    headers = package_directory("ziglang") / "lib" / "libc" / "include" / "any-darwin-any"
    return (f"-isystem{headers}",)


def linked(place: Path) -> tuple[str, ...]:
    """Returns the linker's arguments; the list of functions is in `place`."""
    return link_ios_system(FUNCTIONS, place)
