// Stands in for CUDA's built-in types and functions: what TVM's CUDA kernels use of them.
#pragma once

#include "numbers.h"

struct uint3 {
  unsigned x, y, z;
};

#define STAND_IN_VECTORS(type, name)                                                     \
  struct alignas(2 * sizeof(type)) name##2 { type x, y; };                               \
  struct name##3 { type x, y, z; };                                                      \
  struct alignas(sizeof(type) < 8 ? 4 * sizeof(type) : 16) name##4 { type x, y, z, w; }; \
  static inline name##2 make_##name##2(type x, type y) { return {x, y}; }                \
  static inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }     \
  static inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
STAND_IN_VECTORS(float, float)
STAND_IN_VECTORS(int, int)
STAND_IN_VECTORS(long long, longlong)

static inline int __float_as_int(float value) {
  int result;
  __builtin_memcpy(&result, &value, sizeof(int));
  return result;
}
static inline float __int_as_float(int value) {
  float result;
  __builtin_memcpy(&result, &value, sizeof(float));
  return result;
}
template <typename T>
static inline T min(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
static inline T max(T a, T b) {
  return a < b ? b : a;
}
static inline float rsqrtf(float x) { return stand_in::ReciprocalRoot(x); }

template <typename T>
static inline T StandInShuffle(int line, T value, int lane, int width) {
  return stand_in::Shuffle(line, value,
                           [=](unsigned own) { return own / width * width + unsigned(lane) % width; });
}
// Lanes that would read from beyond their part of the warp keep their own value.
template <typename T>
static inline T StandInShuffleBy(int line, T value, int delta, int width) {
  return stand_in::Shuffle(line, value, [=](unsigned own) {
    int source = int(own) + delta;
    return source >= 0 && source / width == int(own) / width ? unsigned(source) : own;
  });
}
template <typename T>
static inline T StandInShuffleXor(int line, T value, int mask) {
  return stand_in::Shuffle(line, value, [=](unsigned own) { return own ^ unsigned(mask); });
}

// The line of the call tells one barrier from another.
#define __syncthreads() stand_in_waiting.barrier(__LINE__)
#define __syncwarp(...) StandInShuffle(__LINE__, 0, 0, 32)
#define __activemask() 0xffffffffu
#define __shfl_sync(mask, value, lane, width) StandInShuffle(__LINE__, value, lane, width)
#define __shfl_down_sync(mask, value, delta, width) StandInShuffleBy(__LINE__, value, int(delta), width)
#define __shfl_up_sync(mask, value, delta, width) StandInShuffleBy(__LINE__, value, -int(delta), width)
#define __shfl_xor_sync(mask, value, lanes, width) StandInShuffleXor(__LINE__, value, lanes)

#define sinf(x) stand_in::Sine(x)
#define cosf(x) stand_in::Cosine(x)
#define expf(x) stand_in::Exp(x)
#define exp2f(x) stand_in::Exp2(x)
#define logf(x) stand_in::Log(x)
#define log2f(x) stand_in::Log2(x)
#define tanhf(x) stand_in::Tanh(x)
#define sqrtf(x) stand_in::Root(x)
#define powf(x, y) stand_in::Power(x, y)
#define __sinf sinf
#define __cosf cosf
#define __expf expf
#define __logf logf
#define __log2f log2f
#define __powf powf
#define floorf __builtin_floorf
#define ceilf __builtin_ceilf
#define truncf __builtin_truncf
#define roundf __builtin_roundf
#define rintf __builtin_rintf
#define nearbyintf __builtin_nearbyintf
#define fabsf __builtin_fabsf
#define fmodf __builtin_fmodf
#define fmaf __builtin_fmaf
static inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#define fminf __builtin_fminf
#define fmaxf __builtin_fmaxf
#define isnan __builtin_isnan
#define isinf __builtin_isinf

#define __global__ inline __attribute__((always_inline))
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
