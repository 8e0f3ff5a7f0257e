// How the threads of a SIMD group exchange numbers; the same for both languages.
#pragma once

#define STAND_IN_KERNEL
#include "../engine.h"

extern "C" Waiting stand_in_waiting;

namespace stand_in {

template <typename Number>
static inline uint64_t Bits(Number value) {
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(Number));
  return bits;
}

// What the lane that `from` names, given one's own, brought to the exchange; past the ends one's own.
template <typename Number, typename From>
static inline Number Shuffle(int line, Number value, From from) {
  unsigned lane;
  const uint64_t* values = stand_in_waiting.exchange(line, Bits(value), &lane);
  unsigned source = from(lane);
  Number result;
  __builtin_memcpy(&result, &values[source < kLanes ? source : lane], sizeof(Number));
  return result;
}

// A combination of what all 32 lanes brought; lanes that have no thread or have returned bring NaN.
template <typename Number, typename Combine>
static inline Number Reduce(int line, Number value, Combine combine) {
  unsigned lane;
  const uint64_t* values = stand_in_waiting.exchange(line, Bits(value), &lane);
  Number result;
  __builtin_memcpy(&result, values, sizeof(Number));
  for (unsigned i = 1; i < kLanes; ++i) {
    Number other;
    __builtin_memcpy(&other, values + i, sizeof(Number));
    result = combine(result, other);
  }
  return result;
}

}  // namespace stand_in
