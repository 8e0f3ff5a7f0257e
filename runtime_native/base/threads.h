// The number of threads, work that several of them share, and the process that has them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

namespace kokoro {

// False where a process has one thread, as a WebAssembly module without shared memory has: what would run on another
// thread then runs on the caller's.
#if defined(__wasm__)
constexpr bool THREADED = false;
#else
constexpr bool THREADED = true;
#endif

#if defined(__wasm__)
// The speech that is computed, and the last one that a page has stopped, which it writes into the module's memory.
struct Speeches {
    std::atomic<int32_t> computed{0}, stopped{0};
};
extern Speeches speeches;
#endif

// Returns true once nobody wants what is computed now: kernels then do nothing, and what they leave has no meaning.
bool is_stopped();

// Returns the numbers of the cores on which this process may run.
std::vector<int> usable_cores();

// Returns the number of threads: the argument, or if that is 0 `TVM_NUM_THREADS`, else all cores of this process.
// Throws THREADS_ERROR.
int choose_threads(int threads);

// Runs tasks in their order on whichever of `threads` threads is free; none is begun after one has failed. Throws
// what the first task in the order that failed threw.
void run_tasks(const std::vector<std::function<void()>> &tasks, int threads);

// Makes sure that the system starts so many threads: TVM ends the process if it does not. Throws RESOURCE_ERROR.
void check_threads(int count);

// The process in which an object was made. A child process has a copy of the object, and none of its threads.
class Process {
public:
    Process();
    bool is_this() const;
    // Throws FORK_ERROR in a child.
    void check() const;

private:
    long number_;
};

}  // namespace kokoro
