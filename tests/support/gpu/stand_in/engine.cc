// Threads of a group are fibers with stacks of their own, which change places at barriers; groups are spread
// over the cores.
#include "engine.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

extern "C" {
// Saves the caller's stack pointer in *left and goes on where `entered` was left.
void stand_in_switch(void** left, void* entered);
}

#if defined(__x86_64__)
asm(R"(
.text
.globl stand_in_switch
.hidden stand_in_switch
.type stand_in_switch, @function
stand_in_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size stand_in_switch, .-stand_in_switch
)");
constexpr int kSavedWords = 8;  // six registers, the return address and one word that keeps the stack aligned
constexpr int kReturnWord = 6;
#elif defined(__aarch64__)
asm(R"(
.text
.globl stand_in_switch
.hidden stand_in_switch
.type stand_in_switch, %function
stand_in_switch:
  sub sp, sp, #160
  stp x19, x20, [sp]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size stand_in_switch, .-stand_in_switch
)");
constexpr int kSavedWords = 20;
constexpr int kReturnWord = 11;
#endif

namespace stand_in {
namespace {

// The stride is no power of two, so that equal places on the stacks do not meet in the same line of a cache.
constexpr size_t kStack = 32768 + 320;

enum class State : uint8_t { kReady, kBarrier, kExchange, kDone };

struct Fiber {
  void* stack_pointer;
  State state;
  bool odd;  // which of the two exchange buffers comes next
  int line;  // where it waits
};

void SetFlushDenormals(bool flush) {
#if defined(__x86_64__)
  constexpr unsigned kFlushAndZero = 0x8040;
  _mm_setcsr((_mm_getcsr() & ~kFlushAndZero) | (flush ? kFlushAndZero : 0));
#elif defined(__aarch64__)
  uint64_t control;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  control = (control & ~(1ull << 24)) | (uint64_t{flush} << 24);
  asm volatile("msr fpcr, %0" : : "r"(control));
#endif
}

// Runs one group after the other on one core.
class Worker {
 public:
  Worker() : fibers_(kMaximumThreads), exchanged_(2 * kMaximumThreads) {
    void* stacks = mmap(nullptr, kStack * kMaximumThreads, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stacks == MAP_FAILED) throw std::runtime_error("no memory for the stacks of 1024 threads");
    stacks_ = static_cast<char*>(stacks);
  }

  // `backwards`: the last thread first, so that threads that race do not always race in the same order.
  void Run(const Kernel& kernel, Group group, unsigned dynamic_memory, bool backwards) {
    size_t size = kernel.memory + dynamic_memory + kGap;
    if (memory_.size() * 64 < size + 64) memory_.resize(size / 64 + 2);
    group.memory = reinterpret_cast<char*>(memory_.data());
    std::memset(group.memory, 0xff, size);
    unsigned count = group.size.x * group.size.y * group.size.z;
    if (kernel.waits) {
      RunFibers(kernel, group, count, backwards);
    } else {
      kernel.run(&group, 0);
    }
    CheckGaps(kernel, group, dynamic_memory);
  }

  void Wait(State state, int line) {
    Fiber& fiber = fibers_[current_];
    fiber.state = state;
    fiber.line = line;
    stand_in_switch(&fiber.stack_pointer, scheduler_);
  }

  const uint64_t* Exchange(int line, uint64_t value, unsigned* lane) {
    unsigned thread = current_;
    uint64_t* values = exchanged_.data() + (fibers_[thread].odd ? kMaximumThreads : 0);
    fibers_[thread].odd = !fibers_[thread].odd;
    values[thread] = value;
    *lane = thread % kLanes;
    Wait(State::kExchange, line);
    return values + thread / kLanes * kLanes;
  }

 private:
  struct alignas(64) Line {
    char bytes[64];
  };

  static void Start();

  void RunFibers(const Kernel& kernel, const Group& group, unsigned count, bool backwards) {
    kernel_ = &kernel;
    group_ = &group;
    std::memset(exchanged_.data(), 0xff, exchanged_.size() * sizeof(uint64_t));
    for (unsigned i = 0; i < count; ++i) {
      uintptr_t top = reinterpret_cast<uintptr_t>(stacks_ + kStack * (i + 1)) / 64 * 64;
      void** saved = reinterpret_cast<void**>(top) - kSavedWords;
      std::memset(saved, 0, kSavedWords * sizeof(void*));
      saved[kReturnWord] = reinterpret_cast<void*>(&Worker::Start);
      fibers_[i] = {saved, State::kReady, false, 0};
    }
    for (unsigned done = 0; done < count;) {
      for (unsigned i = 0; i < count; ++i) {
        current_ = backwards ? count - 1 - i : i;
        if (fibers_[current_].state == State::kReady) {
          stand_in_switch(&scheduler_, fibers_[current_].stack_pointer);
          done += fibers_[current_].state == State::kDone;
        }
      }
      if (done < count) Release(count);
    }
  }

  // Lets those go on who all wait for each other.
  void Release(unsigned count) {
    if (All(0, count, State::kBarrier, false)) {
      for (unsigned i = 0; i < count; ++i) fibers_[i].state = State::kReady;
      return;
    }
    bool progress = false;
    for (unsigned first = 0; first < count; first += kLanes) {
      unsigned last = std::min(first + kLanes, count);
      if (!All(first, last, State::kExchange, true)) continue;
      for (unsigned i = first; i < last; ++i) {
        if (fibers_[i].state != State::kExchange) continue;
        fibers_[i].state = State::kReady;
        progress = true;
      }
    }
    if (!progress) ThrowDivergence(count);
  }

  // Whether all wait in the same way at the same line.
  bool All(unsigned first, unsigned last, State state, bool or_done) const {
    int line = -1;
    for (unsigned i = first; i < last; ++i) {
      const Fiber& fiber = fibers_[i];
      if (or_done && fiber.state == State::kDone) continue;
      if (fiber.state != state || (line >= 0 && fiber.line != line)) return false;
      line = fiber.line;
    }
    return true;
  }

  [[noreturn]] void ThrowDivergence(unsigned count) const {
    unsigned first = 0;
    while (fibers_[first].state == State::kDone) ++first;
    unsigned other = 0;
    while (other + 1 < count && fibers_[other].state == fibers_[first].state &&
           fibers_[other].line == fibers_[first].line) {
      ++other;
    }
    auto where = [this](unsigned i) {
      const Fiber& fiber = fibers_[i];
      std::string name = "thread " + std::to_string(i);
      if (fiber.state == State::kDone) return name + " has returned";
      std::string what =
          fiber.state == State::kBarrier ? " waits at the barrier" : " waits at the SIMD exchange";
      return name + what + " in line " + std::to_string(fiber.line);
    };
    throw std::runtime_error("divergent barrier: " + where(first) + ", but " + where(other));
  }

  static void CheckGaps(const Kernel& kernel, const Group& group, unsigned dynamic_memory) {
    auto check = [&group](size_t end) {
      for (const char* at = group.memory + end; at < group.memory + end + kGap; ++at) {
        if (*at != char(0xff)) throw std::runtime_error("a thread wrote past an array in threadgroup memory");
      }
    };
    for (unsigned i = 0; i < kernel.array_count; ++i) check(kernel.arrays[i].offset + kernel.arrays[i].size);
    check(kernel.memory + dynamic_memory);
  }

  std::vector<Fiber> fibers_;
  std::vector<uint64_t> exchanged_;
  std::vector<Line> memory_;
  char* stacks_;
  void* scheduler_ = nullptr;
  const Kernel* kernel_ = nullptr;
  const Group* group_ = nullptr;
  unsigned current_ = 0;
};

thread_local Worker* this_worker = nullptr;

void Worker::Start() {
  Worker* worker = this_worker;
  worker->kernel_->run(worker->group_, worker->current_);
  worker->Wait(State::kDone, 0);
}

// Cores that wait for launches; they live as long as the process.
class Pool {
 public:
  static Pool& Global() {
    static Pool* pool = new Pool();
    return *pool;
  }

  // Calls `work` once on every core and returns when all have returned.
  void Run(const std::function<void()>& work) {
    std::unique_lock<std::mutex> lock(mutex_);
    work_ = &work;
    busy_ = threads_;
    ++turn_;
    begin_.notify_all();
    end_.wait(lock, [this] { return busy_ == 0; });
  }

 private:
  Pool() {
    const char* wanted = std::getenv("STAND_IN_THREADS");
    threads_ = wanted ? std::max(1, std::atoi(wanted)) : std::max(1u, std::thread::hardware_concurrency());
    for (unsigned i = 0; i < threads_; ++i) std::thread([this] { Serve(); }).detach();
  }

  void Serve() {
    this_worker = new Worker();
    std::unique_lock<std::mutex> lock(mutex_);
    for (uint64_t seen = 0;;) {
      begin_.wait(lock, [&] { return turn_ != seen; });
      seen = turn_;
      lock.unlock();
      (*work_)();
      lock.lock();
      if (--busy_ == 0) end_.notify_one();
    }
  }

  unsigned threads_;
  std::mutex mutex_;
  std::condition_variable begin_, end_;
  const std::function<void()>* work_ = nullptr;
  uint64_t turn_ = 0;
  unsigned busy_ = 0;
};

}  // namespace

const Waiting kWaiting = {
    [](int line) { this_worker->Wait(State::kBarrier, line); },
    [](int line, uint64_t value, unsigned* lane) { return this_worker->Exchange(line, value, lane); },
};

void Launch(const std::string& name, const Kernel& kernel, void* const* arguments, Extent grid, Extent size,
            unsigned dynamic_memory, bool flush_denormals) {
  static std::mutex one_at_a_time;
  std::lock_guard<std::mutex> lock(one_at_a_time);
  const uint64_t groups = uint64_t{grid.x} * grid.y * grid.z;
  std::atomic<uint64_t> next{0};
  std::mutex failing;
  std::string failure;
  Pool::Global().Run([&] {
    SetFlushDenormals(flush_denormals);
    for (uint64_t i; (i = next++) < groups;) {
      Extent position{unsigned(i % grid.x), unsigned(i / grid.x % grid.y), unsigned(i / grid.x / grid.y)};
      try {
        this_worker->Run(kernel, Group{arguments, position, size, grid, nullptr}, dynamic_memory, i % 2 == 1);
      } catch (const std::exception& error) {
        std::lock_guard<std::mutex> guard(failing);
        failure = "kernel " + name + ", group (" + std::to_string(position.x) + ", " +
                  std::to_string(position.y) + ", " + std::to_string(position.z) + "): " + error.what();
        next = groups;
      }
    }
  });
  if (!failure.empty()) throw std::runtime_error(failure);
}

}  // namespace stand_in
