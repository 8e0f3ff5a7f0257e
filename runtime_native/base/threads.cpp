#include "threads.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <numeric>
#include <string>
#include <system_error>
#include <thread>

#include "errors.h"

namespace kokoro {

namespace {

constexpr int MAXIMUM_THREADS = 1024;

[[noreturn]] void refuse_threads(const std::string &found) {
    throw Error(KOKORO_THREADS_ERROR,
                "The number of threads must be an integer from 1 to 1024, found " + found + ".");
}

// Threads that are joined whatever happens.
class Threads {
public:
    ~Threads() { join(); }
    void start(std::function<void()> function) {
        try {
            threads_.emplace_back(std::move(function));
        } catch (const std::system_error &failure) {
            throw Error(KOKORO_RESOURCE_ERROR, std::string("Starting a thread failed (") + failure.what() +
                                                   "): raise the limits of this process (ulimit), and try again.");
        }
    }
    void join() {
        for (std::thread &each : threads_) {
            if (each.joinable()) each.join();
        }
    }

private:
    std::vector<std::thread> threads_;
};

}  // namespace

#if defined(__wasm__)
Speeches speeches;

bool is_stopped() { return speeches.computed != 0 && speeches.computed == speeches.stopped; }
#else
bool is_stopped() { return false; }
#endif

std::vector<int> usable_cores() {
    std::vector<int> cores;
#if defined(__linux__)
    // Machines of more cores than the fixed set has need a larger one.
    for (int most = CPU_SETSIZE; cores.empty() && most <= 1 << 20; most *= 4) {
        cpu_set_t *set = CPU_ALLOC(most);
        size_t size = CPU_ALLOC_SIZE(most);
        if (set && !sched_getaffinity(0, size, set)) {
            for (int core = 0; core < most; core++) {
                if (CPU_ISSET_S(core, size, set)) cores.push_back(core);
            }
        }
        CPU_FREE(set);
    }
#endif
    if (cores.empty()) {
        cores.resize(std::max(1u, std::thread::hardware_concurrency()));
        std::iota(cores.begin(), cores.end(), 0);
    }
    return cores;
}

int choose_threads(int threads) {
    const char *setting = threads ? nullptr : std::getenv("TVM_NUM_THREADS");
    if (setting) {
        std::string found = setting;
        bool number = !found.empty() && found.size() < 5 && found.find_first_not_of("0123456789") == found.npos;
        threads = number ? std::atoi(setting) : 0;
        if (threads < 1 || threads > MAXIMUM_THREADS) refuse_threads("TVM_NUM_THREADS=" + found);
    } else if (threads == 0) {
        return static_cast<int>(usable_cores().size());
    }
    if (threads < 1 || threads > MAXIMUM_THREADS) refuse_threads(std::to_string(threads));
    return threads;
}

void run_tasks(const std::vector<std::function<void()>> &tasks, int threads) {
    std::atomic<size_t> next{0};
    std::atomic<bool> failed{false};
    std::vector<std::exception_ptr> failures(tasks.size());
    auto run = [&] {
        for (size_t number; !failed && (number = next++) < tasks.size();) {
            try {
                tasks[number]();
            } catch (...) {
                failures[number] = std::current_exception();
                failed = true;
            }
        }
    };
    {
        Threads others;
        size_t count = std::min<size_t>({static_cast<size_t>(threads), usable_cores().size(), tasks.size()});
        try {
            for (size_t each = 1; each < count; each++) others.start(run);
        } catch (...) {
            failed = true;
            throw;
        }
        run();
    }
    for (const std::exception_ptr &failure : failures) {
        if (failure) std::rethrow_exception(failure);
    }
}

void check_threads(int count) {
    if (!THREADED) return;
    std::mutex mutex;
    std::condition_variable released;
    bool release = false;
    Threads threads;
    auto wait = [&] {
        std::unique_lock<std::mutex> lock(mutex);
        released.wait(lock, [&] { return release; });
    };
    std::exception_ptr failure;
    try {
        while (count--) threads.start(wait);
    } catch (...) {
        failure = std::current_exception();
    }
    {
        std::lock_guard<std::mutex> lock(mutex);
        release = true;
    }
    released.notify_all();
    threads.join();
    if (failure) std::rethrow_exception(failure);
}

// A WebAssembly module has no process to fork.
static long this_process() {
#if defined(__wasm__)
    return 0;
#else
    return getpid();
#endif
}

Process::Process() : number_(this_process()) {}

bool Process::is_this() const { return number_ == this_process(); }

void Process::check() const {
    if (is_this()) return;
    throw Error(KOKORO_FORK_ERROR, "This bundle was loaded before the process forked, and its threads did not "
                                   "survive: load it in the child.");
}

}  // namespace kokoro
