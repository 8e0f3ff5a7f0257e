// The memory of the device: handles that the host cannot use, and what lies behind them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace stand_in {

// Device memory is filled with 0xff (NaN) and has 0xff around it, which nobody may change.
class Memory {
 public:
  // `arithmetic`: whether a handle plus bytes is an address too, as on CUDA; Metal's are objects.
  explicit Memory(bool arithmetic);

  void* Allocate(size_t size);

  // Nothing can be thrown here: what is wrong, the next use of device memory throws.
  void Free(void* handle);

  // The host's address of `size` bytes at `offset` from a handle; throws std::runtime_error.
  char* Resolve(const void* handle, size_t offset, size_t size);

  // Throws std::runtime_error if bytes around the memory of a handle have been written.
  void Check(const void* handle);

 private:
  struct Allocation {
    char* begin;
    size_t size;
  };
  using Found = std::map<uintptr_t, Allocation>::iterator;

  Found Find(const void* handle);
  static std::string WrittenGuard(const Allocation& allocation);

  const bool arithmetic_;
  std::mutex mutex_;
  std::map<uintptr_t, Allocation> allocations_;
  uintptr_t next_;
  uintptr_t end_;
  std::string failure_;
};

}  // namespace stand_in
