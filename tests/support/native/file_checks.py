"""Checks of the native library's file: its exports, and its needs of the system."""

from __future__ import annotations

import re
from pathlib import Path

import lief

from exporter.compiler.link import required_libc
from exporter.compiler.targets import Target
from exporter.native.build import HEADER
from tests.support.emulation.library_files import LIBSYSTEM as CALLED_BY_STAGES
from tests.support.emulation.library_files import check_mach_o_header, check_mach_o_memory

DECLARED = set(re.findall(r"\b(kokoro_\w+)\(", HEADER.read_text(encoding="utf-8")))
"""The functions of `kokoro.h`."""
FOR_STAGES = {"TVMFFIErrorSetRaisedFromCStrParts"}
"""The function of tvm-ffi that compiled stages find by its name."""
_ELF_MACHINES = {"x86_64": lief.ELF.ARCH.X86_64, "aarch64": lief.ELF.ARCH.AARCH64}
_GLIBC = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2"}
LIBSYSTEM = set(
    """
__DefaultRuneLocale __FE_DFL_ENV __Unwind_DeleteException __Unwind_GetIP
__Unwind_GetLanguageSpecificData __Unwind_GetRegionStart __Unwind_RaiseException __Unwind_Resume
__Unwind_SetGR __Unwind_SetIP ____mb_cur_max_l ___cxa_atexit ___error ___maskrune ___sincos_stret
___exp10 ___stderrp ___stdinp ___stdoutp ___tolower ___toupper __tlv_atexit __tlv_bootstrap _abort
_aligned_alloc _arc4random _asprintf_l _atoi _bzero _calloc _catclose _catgets _catopen _clock_gettime _close
_dladdr _dlclose _dlerror _dlopen _dlsym _exit _exp _fchmodat _fclose _fegetenv _ferror _fesetenv
_fflush _fopen _fputc _fputwc _fread _free _freelocale _fseek _fseeko _fstat _fstatat _ftello
_fwrite _getc _getcwd _getenv _getpid _getwc _localtime _log _lstat _malloc _mbrlen_l _mbrtowc_l
_mbsnrtowcs_l _mbsrtowcs_l _mbtowc_l _memchr _memcmp _memcpy _memmove _memset _memset_pattern16
_mkdtemp _mmap _modf _munmap _open _openat _posix_memalign _pread _pthread_cond_broadcast
_pthread_atfork _pthread_cond_destroy _pthread_cond_signal _pthread_cond_timedwait _pthread_cond_wait
_pthread_create _pthread_detach
_pthread_join _pthread_key_create _pthread_mach_thread_np _pthread_mutex_destroy _pthread_mutex_init
_pthread_mutex_lock _pthread_mutex_unlock _pthread_mutexattr_destroy _pthread_mutexattr_init
_pthread_mutexattr_settype _pthread_self _pthread_setspecific _realloc _realpath$DARWIN_EXTSN
_remove _rename _rmdir _sched_yield _setbuf _snprintf _snprintf_l _sscanf _stat _strcmp _strerror
_strerror_r _strftime_l _strlen _strncmp _strtod _strtod_l _strtof_l _strtoimax _strtol _strtold_l
_strtoll _strtoul _sysconf _sysctlbyname _time _uname _ungetc _ungetwc _unlink _vfprintf _vsnprintf
_wcrtomb_l _wcslen _wcsnrtombs_l _wmemchr _write dyld_stub_binder
""".split()
)
"""Functions of the C library that macOS 13 and older ones have; iOS 14.5 and 15.6 have them too."""


def check_elf(path: Path, target: Target) -> None:
    """Fails unless the library at `path` needs the oldest glibc of `target` and nothing else."""
    library = lief.ELF.parse(path)
    assert library is not None and library.header.machine_type == _ELF_MACHINES[target.machine]
    assert library.header.file_type == lief.ELF.Header.FILE_TYPE.DYN
    assert {str(each.name) for each in library.exported_symbols} == DECLARED | FOR_STAGES
    assert set(library.libraries) <= _GLIBC
    # Weak symbols are those of toolchains.
    needed = [each for each in library.imported_symbols if each.binding != lief.ELF.Symbol.BINDING.WEAK]
    # Static objects are not destroyed while threads run: exit.cpp drops what would do it.
    assert "__cxa_atexit" not in {symbol.name for symbol in library.imported_symbols}
    for symbol in needed:
        version = symbol.symbol_version.symbol_version_auxiliary
        assert version is not None and version.name.startswith("GLIBC_"), symbol.name
    oldest = target.minimum_os.removeprefix("glibc ").split(".")
    assert (0, 0) < required_libc([path]) <= tuple(map(int, oldest))
    (stack,) = (each for each in library.segments if each.type == lief.ELF.Segment.TYPE.GNU_STACK)
    assert not stack.has(lief.ELF.Segment.FLAGS.X)


def check_framework(path: Path, target: Target) -> None:
    """Fails unless the module at `path` needs the oldest iOS of `target`, and shows apps `kokoro.h` alone."""
    check_mach_o_memory(path)
    _check_apple(path, target, "@rpath/Kokoro.framework/Kokoro", CALLED_BY_STAGES, DECLARED)


def check_mach_o(path: Path, target: Target, install_name: str | None = None) -> None:
    """Fails unless the library at `path` needs the oldest macOS of `target` and nothing else."""
    _check_apple(path, target, install_name, set(), DECLARED | FOR_STAGES)


def _check_apple(
    path: Path, target: Target, install_name: str | None, called_by_stages: set[str], shown: set[str]
) -> None:
    flat, of_system, weak = check_mach_o_header(path, target, install_name)
    assert not flat and of_system <= LIBSYSTEM | called_by_stages
    # Nobody takes names of C++ from the library, and it takes none from others.
    assert not weak
    library = lief.MachO.parse(path).at(0)
    flags = lief.MachO.Header.FLAGS
    assert not library.header.has(flags.WEAK_DEFINES) and not library.header.has(flags.BINDS_TO_WEAK)
    found = {str(symbol.name) for symbol in library.symbols if symbol.has_export_info}
    assert found == {f"_{name}" for name in shown}
