// How threadgroups run on a CPU: what the device, the engine and the compiled kernels know of each other.
#pragma once

#include <cstdint>

struct Extent {
  unsigned x, y, z;
};

// One threadgroup, as the compiled kernel sees it.
struct Group {
  void* const* arguments;  // the address of each argument on the host
  Extent position, size, grid;
  char* memory;  // of the threadgroup
};

struct Array {
  unsigned offset, size;  // bytes, in the threadgroup's memory
};

// What a compiled kernel exports.
struct Kernel {
  bool waits;                                  // its threads wait for each other
  void (*run)(const Group*, unsigned thread);  // one thread if it waits, else all one after the other
  unsigned maximum_threads;                    // that it was compiled for
  unsigned used;                               // bytes of threadgroup memory that it declares
  unsigned memory;                             // the same with gaps
  const Array* arrays;
  unsigned array_count;
};

// What compiled kernels call; the engine sets them when it loads a library.
struct Waiting {
  void (*barrier)(int line);
  // Waits for the threads of the SIMD group and returns what each of its 32 lanes brought.
  const uint64_t* (*exchange)(int line, uint64_t value, unsigned* lane);
};

constexpr unsigned kGap = 128;  // bytes that nobody may write, after each array of a threadgroup
constexpr unsigned kLanes = 32;
constexpr unsigned kMaximumThreads = 1024;

#ifndef STAND_IN_KERNEL
#include <string>

namespace stand_in {

extern const Waiting kWaiting;

// Runs all groups on all cores and returns when the last is through; throws std::runtime_error.
void Launch(const std::string& name, const Kernel& kernel, void* const* arguments, Extent grid, Extent size,
            unsigned dynamic_memory, bool flush_denormals);

}  // namespace stand_in
#endif
