// Threads of the module: other Workers have instances of it on the same memory, and wait here for parts of kernels.
//
// Three functions here have the names by which kernels call TVM's, which are renamed (`exporter/native/web_module.py`).
// The library itself runs on one thread, so nothing but a kernel's parts runs at once, and of the C library those need
// malloc alone.
#if defined(__wasm__)

#include <tvm/ffi/c_api.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "../base/threads.h"

#undef TVMBackendParallelLaunch
#undef TVMBackendAllocWorkspace
#undef TVMBackendFreeWorkspace

namespace {

// Of TVM's c_backend_api.h.
struct Environment {
    void *barrier;  // of tasks that wait for each other, of which there are none
    int32_t tasks;
};
using Part = int (*)(int task, Environment *environment, void *data);

constexpr int MOST_TASKS = 64, TASK_BITS = 8;
constexpr int SPINS = 4000;  // about as long as the library is busy between two kernels

struct Job {
    Part function;
    void *data;
    Environment environment;
};

Job job;
std::atomic<int32_t> helpers{0};
// The number of the job, and in its last bits that of its tasks: a helper without a task reads nothing else.
std::atomic<int32_t> current{0};
std::atomic<int32_t> running{0};  // tasks of helpers that have not ended
std::atomic<bool> failed{false};
std::atomic<bool> lost{false};  // a helper has ended, and with it the way in which parts are numbered
std::atomic<bool> allocating{false};
std::atomic<int32_t> helped{0};  // parts that helpers have computed
thread_local bool is_helper = false;

int32_t *address(std::atomic<int32_t> &value) { return reinterpret_cast<int32_t *>(&value); }

// Returns a value that is no longer `old`.
int32_t wait_for_change(std::atomic<int32_t> &value, int32_t old) {
    for (int spin = 0; spin < SPINS; spin++) {
        if (int32_t found = value.load(); found != old) return found;
    }
    while (value.load() == old) __builtin_wasm_memory_atomic_wait32(address(value), old, -1);
    return value.load();
}

class AllocationLock {
public:
    AllocationLock() {
        while (allocating.exchange(true)) {
        }
    }
    ~AllocationLock() { allocating = false; }
};

void run_task(int number) {
    if (job.function(number, &job.environment, job.data) != 0) failed = true;
}

void end_task() {
    if (--running == 0) __builtin_wasm_memory_atomic_notify(address(running), 1);
}

}  // namespace

extern "C" {

void *KokoroTVMAllocWorkspace(int, int, uint64_t, int, int);
int KokoroTVMFreeWorkspace(int, int, void *);

// Runs a helper's part of each kernel from now on, and never returns.
__attribute__((export_name("kokoro_web_help"))) void kokoro_web_help() {
    is_helper = true;
    int32_t seen = current.load();  // before anybody counts on this helper
    int number = ++helpers;
    for (;;) {
        seen = wait_for_change(current, seen);
        if (number >= seen % (1 << TASK_BITS)) continue;
        run_task(number);
        helped++;
        end_task();
    }
}

// Tells that a part of a kernel has ended a helper: the kernel fails, and from now on one thread computes alone.
__attribute__((export_name("kokoro_web_lose"))) void kokoro_web_lose() {
    lost = failed = true;
    end_task();
}

// Returns how many parts other threads have computed.
__attribute__((export_name("kokoro_web_helped"))) int32_t kokoro_web_helped() { return helped; }

// Returns the address of two numbers of 32 bits: the speech that is computed, and the last one that was stopped.
__attribute__((export_name("kokoro_web_speeches"))) void *kokoro_web_speeches() { return &kokoro::speeches; }

int TVMBackendParallelLaunch(Part function, void *data, int) {
    if (kokoro::is_stopped()) return 0;
    int tasks = lost ? 1 : std::min(1 + helpers.load(), MOST_TASKS);
    job = {function, data, {nullptr, tasks}};
    failed = false;
    running = tasks - 1;
    if (tasks > 1) {
        uint32_t next = (static_cast<uint32_t>(current.load()) >> TASK_BITS) + 1;
        current = static_cast<int32_t>(next % (1 << 22) << TASK_BITS | tasks);
        __builtin_wasm_memory_atomic_notify(address(current), tasks - 1);
    }
    run_task(0);
    for (int32_t left = running.load(); left != 0;) left = wait_for_change(running, left);
    if (!failed) return 0;
    TVMFFIErrorSetRaisedFromCStr("RuntimeError", "a part of a kernel failed");
    return -1;
}

void *TVMBackendAllocWorkspace(int device_type, int device, uint64_t bytes, int code, int bits) {
    AllocationLock lock;
    if (is_helper) return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    return KokoroTVMAllocWorkspace(device_type, device, bytes, code, bits);
}

int TVMBackendFreeWorkspace(int device_type, int device, void *memory) {
    AllocationLock lock;
    if (!is_helper) return KokoroTVMFreeWorkspace(device_type, device, memory);
    std::free(memory);
    return 0;
}

}  // extern "C"

#endif
