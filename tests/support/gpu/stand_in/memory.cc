#include "memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace stand_in {
namespace {

constexpr size_t kGuard = 4096;  // bytes before and after each allocation
constexpr size_t kAddresses = size_t{1} << 40;

[[noreturn]] void Fail(const std::string& what) { throw std::runtime_error("device memory: " + what); }

}  // namespace

Memory::Memory(bool arithmetic) : arithmetic_(arithmetic) {
  // Nothing is mapped there: a handle that the host dereferences is a segmentation fault.
  void* addresses = mmap(nullptr, kAddresses, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (addresses == MAP_FAILED) Fail("no address space for handles");
  next_ = reinterpret_cast<uintptr_t>(addresses);
  end_ = next_ + kAddresses;
}

void* Memory::Allocate(size_t size) {
  std::lock_guard<std::mutex> lock(mutex_);
  // The real runtime gets nil for a buffer without bytes, and stops.
  if (size == 0 && !arithmetic_) Fail("Metal has no buffers of 0 bytes");
  size_t whole = (size + 2 * kGuard + kGuard - 1) / kGuard * kGuard;
  if (next_ + whole > end_) Fail("handles are used up");
  char* block = static_cast<char*>(std::aligned_alloc(kGuard, whole));
  if (block == nullptr) Fail("no memory for " + std::to_string(size) + " bytes");
  std::memset(block, 0xff, whole);
  uintptr_t handle = next_;
  next_ += whole;  // a handle is never used twice
  allocations_[handle] = {block + kGuard, size};
  return reinterpret_cast<void*>(handle);
}

void Memory::Free(void* handle) {
  std::lock_guard<std::mutex> lock(mutex_);
  Found found = allocations_.find(reinterpret_cast<uintptr_t>(handle));
  if (found == allocations_.end()) {
    failure_ = "what was freed was no handle";
    return;
  }
  if (std::string guard = WrittenGuard(found->second); !guard.empty()) failure_ = guard;
  std::free(found->second.begin - kGuard);
  allocations_.erase(found);
}

char* Memory::Resolve(const void* handle, size_t offset, size_t size) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!failure_.empty()) Fail(std::exchange(failure_, ""));
  Found found = Find(handle);
  const Allocation& allocation = found->second;
  offset += reinterpret_cast<uintptr_t>(handle) - found->first;
  if (offset > allocation.size || size > allocation.size - offset) {
    Fail(std::to_string(size) + " bytes at " + std::to_string(offset) + " of " +
         std::to_string(allocation.size));
  }
  return allocation.begin + offset;
}

void Memory::Check(const void* handle) {
  std::lock_guard<std::mutex> lock(mutex_);
  const Allocation& allocation = Find(handle)->second;
  std::string guard = WrittenGuard(allocation);
  if (guard.empty()) return;
  // Told once is enough.
  std::memset(allocation.begin - kGuard, 0xff, kGuard);
  std::memset(allocation.begin + allocation.size, 0xff, kGuard);
  Fail(guard);
}

Memory::Found Memory::Find(const void* handle) {
  uintptr_t address = reinterpret_cast<uintptr_t>(handle);
  Found found = allocations_.upper_bound(address);
  if (found == allocations_.begin()) Fail("the address is no handle");
  --found;
  uintptr_t offset = address - found->first;
  if (offset > found->second.size) Fail("the address is no handle");
  if (offset != 0 && !arithmetic_)
    Fail("a Metal buffer is an object, and bytes cannot be added to its handle");
  return found;
}

std::string Memory::WrittenGuard(const Allocation& allocation) {
  auto written = [](const char* guard) {
    return std::any_of(guard, guard + kGuard, [](char byte) { return byte != char(0xff); });
  };
  const std::string bytes = " " + std::to_string(allocation.size) + " bytes of device memory";
  if (written(allocation.begin - kGuard)) return "something wrote before the beginning of" + bytes;
  if (written(allocation.begin + allocation.size)) return "something wrote past the end of" + bytes;
  return "";
}

}  // namespace stand_in
