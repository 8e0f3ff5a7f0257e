#include "vm.h"

#include <tvm/runtime/c_backend_api.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "../base/errors.h"
#include "floating_point.h"
#include "modules.h"

namespace kokoro {

namespace {

constexpr int CPU_TYPE = 1;  // DLPack's number
constexpr int POOLED_ALLOCATOR = 2;
constexpr int SHARE_ALL_CORES = -3;  // TVM's mode in which every thread of a pool may run on every given core

// Returns the numbers of a version before any suffix such as `.post1`.
std::vector<uint64_t> release(const std::string &version) {
    std::vector<uint64_t> numbers;
    for (size_t start = 0; start < version.size();) {
        size_t end = std::min(version.find('.', start), version.size());
        std::string part = version.substr(start, end - start);
        if (part.empty() || part.size() > 9 || part.find_first_not_of("0123456789") != part.npos) break;
        numbers.push_back(std::stoul(part));
        start = end + 1;
    }
    return numbers;
}

// Makes the calling thread's TVM pool with exactly `threads` threads, free to run on all cores.
void make_pool(int threads) {
    Any configure = global_function("runtime.config_threadpool"), make_array = global_function("ffi.Array");
    std::vector<std::string> names;
    for (int core : usable_cores()) names.push_back(std::to_string(core));
    auto open_to = [&](size_t count) {
        std::vector<TVMFFIAny> cores;
        for (size_t index = 0; index < count; index++) cores.push_back(argument(names[index % names.size()].c_str()));
        configure({argument(SHARE_ALL_CORES), argument(threads), make_array(cores).view()});
    };
    // The first call makes the pool, as large as the list is long; the second opens all cores to it.
    open_to(threads);
    // The C library allocates what a thread keeps for itself at its first use, and ends the process if there is no
    // memory by then. A busy machine may start the pool's threads after the load.
    if (THREADED) TVMBackendParallelLaunch([](int, TVMParallelGroupEnv *, void *) { return 0; }, nullptr, 0);
    open_to(names.size());
}

}  // namespace

// A thread that runs functions for others. It never ends, because TVM does not end the pool of a thread that has.
class WorkerThread {
public:
    explicit WorkerThread(int threads) : threads(threads) {
        try {
            if (THREADED) std::thread([state = state_] { run(*state); }).detach();
        } catch (const std::system_error &failure) {
            throw Error(KOKORO_RESOURCE_ERROR, std::string("Starting a thread failed (") + failure.what() +
                                                   "): raise the limits of this process (ulimit), and try again.");
        }
        call([=] { make_pool(threads); });
    }

    void call(const std::function<void()> &function) {
        if (!THREADED) return function();
        Task task{&function};
        std::unique_lock<std::mutex> lock(state_->mutex);
        state_->tasks.push_back(&task);
        state_->changed.notify_all();
        state_->changed.wait(lock, [&] { return task.done; });
        if (task.failure) std::rethrow_exception(task.failure);
    }

    const int threads;
    const Process process;

private:
    struct Task {
        const std::function<void()> *function;
        bool done = false;
        std::exception_ptr failure;
    };
    struct State {
        std::mutex mutex;
        std::condition_variable changed;
        std::deque<Task *> tasks;
    };

    static void run(State &state) {
        // TVM's own threads inherit it.
        FloatingPointMode mode;
        std::unique_lock<std::mutex> lock(state.mutex);
        for (;;) {
            state.changed.wait(lock, [&] { return !state.tasks.empty(); });
            Task &task = *state.tasks.front();
            state.tasks.pop_front();
            lock.unlock();
            std::exception_ptr failure;
            try {
                (*task.function)();
            } catch (...) {
                failure = std::current_exception();
            }
            lock.lock();
            task.failure = std::move(failure);
            task.done = true;
            state.changed.notify_all();
        }
    }

    // The thread outlives everything, also this library's static objects.
    State *state_ = new State;
};

namespace {

// Threads of bundles that were freed, for the next ones.
struct IdleThreads {
    std::mutex mutex;
    std::vector<std::unique_ptr<WorkerThread>> threads;
};

IdleThreads &idle() {
    static IdleThreads &threads = *new IdleThreads;
    return threads;
}

std::unique_ptr<WorkerThread> take_thread(int threads) {
    {
        std::lock_guard<std::mutex> lock(idle().mutex);
        auto &left = idle().threads;
        auto fits = [&](const auto &each) { return each->threads == threads && each->process.is_this(); };
        auto found = std::find_if(left.begin(), left.end(), fits);
        if (found != left.end()) {
            std::unique_ptr<WorkerThread> thread = std::move(*found);
            left.erase(found);
            return thread;
        }
    }
    check_threads(threads);
    return std::make_unique<WorkerThread>(threads);
}

}  // namespace

Worker::Worker(int threads) : thread_(take_thread(threads)) {}

Worker::~Worker() {
    // In a child process there is no thread to wait for, and a lock of the allocator may be held.
    if (process_.is_this()) {
        try {
            call([] { global_function("vm.builtin.memory_manager.clear")({}); });
        } catch (...) {
            // The next bundle uses what TVM keeps.
        }
    }
    std::lock_guard<std::mutex> lock(idle().mutex);
    idle().threads.push_back(std::move(thread_));
}

void Worker::call(const std::function<void()> &function) {
    process_.check();
    thread_->call(function);
}

void check_tvm(const Manifest &manifest) {
    TVMFFIVersion found;
    TVMFFIGetVersion(&found);
    std::vector<uint64_t> ours = {found.major, found.minor, found.patch}, built = release(manifest.tvm_ffi);
    bool same_minor = built.size() >= 2 && built[0] == ours[0] && built[1] == ours[1];
    if (!same_minor || ours < built) {
        throw Error(KOKORO_TVM_VERSION_ERROR,
                    "The bundle needs apache-tvm-ffi " + manifest.tvm_ffi + ", and this library has " +
                        std::to_string(found.major) + "." + std::to_string(found.minor) + "." +
                        std::to_string(found.patch) + ": use the library that came with the bundle.");
    }
    if (manifest.tvm != KOKORO_TVM_VERSION) {
        throw Error(KOKORO_TVM_VERSION_ERROR, "The bundle was compiled by TVM " + manifest.tvm + ", and this library "
                                              "has " KOKORO_TVM_VERSION ": use the library that came with the bundle.");
    }
    make_symbols_visible();
}

Any load_function(BundleFiles &files, const Library &library) {
    try {
        Any module = load_module(files, library);
        Any machine = module.member("vm_load_executable")({});
        machine.member("vm_initialization")({argument(CPU_TYPE), argument(int64_t{0}), argument(POOLED_ALLOCATOR)});
        return machine.member(library.function);
    } catch (const TvmError &failure) {
        throw Error(KOKORO_LIBRARY_LOAD_ERROR, "The function " + library.function + " of " +
                                                   files.place(library.file) + " could not be loaded: " +
                                                   failure.what());
    }
}

}  // namespace kokoro
