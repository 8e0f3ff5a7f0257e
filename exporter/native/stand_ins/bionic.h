// Android's C library, where it differs from musl, whose headers zig has: included before everything else.
//
// On 64-bit Arm both follow Linux in everything else that the C library, TVM's runtime and the C++ library use: the
// headers of both were compared.

#pragma once

#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

// tvm-ffi takes the order of bytes from headers of glibc alone.
#define TVM_FFI_CMAKE_LITTLE_ENDIAN 1

#define __DEFINED_pthread_mutexattr_t
#define __DEFINED_pthread_condattr_t
typedef long pthread_mutexattr_t;
typedef long pthread_condattr_t;

#include <errno.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#undef errno
#define errno (*__errno())
#undef FE_DFL_ENV
#define FE_DFL_ENV (&__fe_dfl_env)
#undef LC_ALL_MASK
#define LC_ALL_MASK 0x1fbf
#undef _PC_PATH_MAX
#define _PC_PATH_MAX 5
#undef _SC_PAGESIZE
#define _SC_PAGESIZE 0x27
#undef _SC_NPROCESSORS_ONLN
#define _SC_NPROCESSORS_ONLN 0x61

#if defined(__cplusplus)
extern "C" {
#endif

int *__errno(void) __attribute__((const));
extern const fenv_t __fe_dfl_env;
pid_t pthread_gettid_np(pthread_t thread);

// Android has the function from version 11 on, and Linux the call.
static inline int kokoro_memfd_create(const char *name, unsigned flags) {
    return (int)syscall(SYS_memfd_create, name, flags);
}
#define memfd_create kokoro_memfd_create

#if defined(__cplusplus)
}
#endif
