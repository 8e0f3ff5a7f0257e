// Vectors of 2 to 4 numbers, and functions of float, exact or off by what fast math allows.
#pragma once

#include "entry.h"

namespace stand_in {

// Plain loops, which the compiler makes vector instructions of.
template <typename Number, int N>
struct alignas(sizeof(Number) * (N == 3 ? 4 : N)) Vector {
  Number raw[N];

  Vector() = default;
  Vector(Number all) {
    for (int i = 0; i < N; ++i) raw[i] = all;
  }
  template <typename... Numbers, typename = char[sizeof...(Numbers) == N && N != 1 ? 1 : -1]>
  Vector(Numbers... numbers) : raw{Number(numbers)...} {}
  template <typename Other>
  explicit Vector(const Vector<Other, N>& other) {
    for (int i = 0; i < N; ++i) raw[i] = Number(other.raw[i]);
  }

  Number operator[](int i) const { return raw[i]; }
  Number& operator[](int i) { return raw[i]; }

#define STAND_IN_OPERATOR(op)                                    \
  friend inline Vector operator op(Vector a, const Vector& b) {  \
    for (int i = 0; i < N; ++i) a.raw[i] = a.raw[i] op b.raw[i]; \
    return a;                                                    \
  }
  STAND_IN_OPERATOR(+)
  STAND_IN_OPERATOR(-)
  STAND_IN_OPERATOR(*)
  STAND_IN_OPERATOR(/)
#undef STAND_IN_OPERATOR
  friend inline Vector operator-(const Vector& a) { return Vector(Number(0)) - a; }
};

#if STAND_IN_FAST_MATH
// `value`, off by `error` in the direction that its bits decide.
static inline float Off(float value, float error) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return (bits * 2654435761u) >> 31 ? value + error : value - error;
}
// 2^-24 of a float is at most one unit in its last place.
static inline float OffUnits(float value, float units) { return Off(value, value * (units * 0x1p-24f)); }
#else
static inline float Off(float value, float) { return value; }
static inline float OffUnits(float value, float) { return value; }
#endif

// The errors that the Metal Shading Language specification allows under fast math; CUDA's are smaller. Beyond
// half a turn it promises nothing of sine and cosine: there the error grows with the angle.
static inline float Exp(float x) {
  return OffUnits(__builtin_expf(x), 3 + __builtin_floorf(__builtin_fabsf(2 * x)));
}
static inline float Exp2(float x) {
  return OffUnits(__builtin_exp2f(x), 3 + __builtin_floorf(__builtin_fabsf(2 * x)));
}
static inline float AngleError(float x) {
  float turns = __builtin_fabsf(x) * 0.31830988f;
  return 0x1p-13f * (turns > 1 ? turns : 1);
}
static inline float Sine(float x) { return Off(__builtin_sinf(x), AngleError(x)); }
static inline float Cosine(float x) { return Off(__builtin_cosf(x), AngleError(x)); }
static inline float ReciprocalRoot(float x) { return OffUnits(1 / __builtin_sqrtf(x), 2); }
static inline float Log(float x) {
  bool near_one = x >= 0.5f && x <= 2;
  float exact = __builtin_logf(x);
  return near_one ? Off(exact, 0x1p-21f) : OffUnits(exact, 3);
}
static inline float Log2(float x) {
  bool near_one = x >= 0.5f && x <= 2;
  float exact = __builtin_log2f(x);
  return near_one ? Off(exact, 0x1p-21f) : OffUnits(exact, 3);
}
#if STAND_IN_FAST_MATH
static inline float Root(float x) { return x > 0 ? x * ReciprocalRoot(x) : __builtin_sqrtf(x); }
static inline float Power(float x, float y) { return Exp2(y * Log2(x)); }
static inline float Divide(float a, float b) { return OffUnits(a / b, 2.5f); }
static inline float Tanh(float x) {
  float t = Exp(2 * x);
  return t > 0x1p60f ? 1 : Divide(t - 1, t + 1);
}
#else
static inline float Root(float x) { return __builtin_sqrtf(x); }
static inline float Power(float x, float y) { return __builtin_powf(x, y); }
static inline float Divide(float a, float b) { return a / b; }
static inline float Tanh(float x) { return __builtin_tanhf(x); }
#endif

}  // namespace stand_in

// The compiler of kernels writes divisions so in sources for fast math.
template <typename A, typename B>
static inline auto stand_in_divide(A a, B b) -> decltype(a / b) {
  return a / b;
}
static inline float stand_in_divide(float a, float b) { return stand_in::Divide(a, b); }
template <int N>
static inline stand_in::Vector<float, N> stand_in_divide(stand_in::Vector<float, N> a,
                                                         stand_in::Vector<float, N> b) {
  for (int i = 0; i < N; ++i) a.raw[i] = stand_in::Divide(a.raw[i], b.raw[i]);
  return a;
}
