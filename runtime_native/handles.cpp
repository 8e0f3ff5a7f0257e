#include "handles.h"

#if !defined(__wasm__)
#include <pthread.h>
#endif

#include <map>
#include <stdexcept>

#include "base/errors.h"

namespace kokoro {

// A bundle that has a handle.
struct Opened {
    std::unique_ptr<Bundle> bundle;
    const uintptr_t number;
    const Process process;
    size_t leases = 0;
    bool closed = false;
    bool freed = false;
};

namespace {

using Lock = std::unique_lock<std::mutex>;

// Debuggers and the runtimes of some languages take small and odd addresses for damage.
constexpr uintptr_t FIRST_NUMBER = 1 << 20, NEXT_NUMBER = 16;

struct Handles {
    std::mutex mutex;  // of all that follows, and of every Opened
    std::condition_variable freed;
    std::map<uintptr_t, std::shared_ptr<Opened>> opened;
    std::map<uintptr_t, std::shared_ptr<OpenedLive>> lives;
    uintptr_t next = FIRST_NUMBER;

    // Another thread may hold the mutex while the process forks, and it does not exist in the child.
#if !defined(__wasm__)
    Handles() {
        // The first error that is destroyed initialises an object of the C++ library on macOS. If a thread does that
        // while the process forks, errors of the child would wait for it for ever.
        std::runtime_error first("");
        pthread_atfork([] { handles().mutex.lock(); }, [] { handles().mutex.unlock(); },
                       [] { handles().mutex.unlock(); });
    }
#endif
    static Handles &handles() {
        static Handles &all = *new Handles;
        return all;
    }
};

// Leases of the calling thread, which are calls that it is in.
thread_local size_t leases_here = 0;

std::shared_ptr<Opened> find(const kokoro_bundle *handle) {
    auto &opened = Handles::handles().opened;
    auto found = opened.find(reinterpret_cast<uintptr_t>(handle));
    return found == opened.end() ? nullptr : found->second;
}

// Frees a bundle that is closed and that no call uses; only one caller ever gets it.
void free_unused(Lock &lock, Opened &opened) {
    // A child process has none of the threads that used the bundle or its allocator, and maybe their locks.
    if (!opened.closed || opened.leases || !opened.bundle || !opened.process.is_this()) return;
    std::unique_ptr<Bundle> bundle = std::move(opened.bundle);
    lock.unlock();
    bundle.reset();
    lock.lock();
    opened.freed = true;
    Handles::handles().opened.erase(opened.number);
    Handles::handles().freed.notify_all();
}

}  // namespace

kokoro_bundle *open_handle(std::unique_ptr<Bundle> bundle) {
    Handles &all = Handles::handles();
    Lock lock(all.mutex);
    std::shared_ptr<Opened> opened(new Opened{std::move(bundle), all.next});
    all.opened.emplace(opened->number, opened);
    all.next += NEXT_NUMBER;
    return reinterpret_cast<kokoro_bundle *>(opened->number);
}

void close_handle(const kokoro_bundle *handle) {
    Handles &all = Handles::handles();
    Lock lock(all.mutex);
    std::shared_ptr<Opened> opened = find(handle);
    if (!opened) return;
    if (!opened->closed) opened->bundle->cancel();
    opened->closed = true;
    free_unused(lock, *opened);
    if (!leases_here && opened->process.is_this()) all.freed.wait(lock, [&] { return opened->freed; });
}

void cancel_calls(const kokoro_bundle *handle) {
    Lock lock(Handles::handles().mutex);
    std::shared_ptr<Opened> opened = find(handle);
    if (opened && !opened->closed) opened->bundle->cancel();
}

Lease::Lease(const kokoro_bundle *handle) {
    if (!handle) throw Error(KOKORO_ARGUMENT_TYPE_ERROR, "The argument 'bundle' must not be NULL.");
    Lock lock(Handles::handles().mutex);
    opened_ = find(handle);
    if (!opened_ || opened_->closed) {
        throw Error(KOKORO_CLOSED_BUNDLE_ERROR, "The argument 'bundle' is none that kokoro_load has made, or it was "
                                                "freed: load it again.");
    }
    cancellations_ = opened_->bundle->cancellations();
    opened_->leases++;
    leases_here++;
}

Lease::~Lease() {
    Lock lock(Handles::handles().mutex);
    leases_here--;
    opened_->leases--;
    free_unused(lock, *opened_);
}

const Bundle &Lease::bundle() const { return *opened_->bundle; }

Bundle &Lease::speaker() const {
    opened_->process.check();
    return *opened_->bundle;
}

OpenedLive::Turn::Turn(OpenedLive &live) : live_(live) {
    Lock lock(live.mutex_);
    if (live.taken_)
        throw Error(KOKORO_USAGE_ERROR, "Another call takes the pieces of this speech: wait until it has returned.");
    live.taken_ = true;
}

OpenedLive::Turn::~Turn() {
    // A child process has no thread that waits, and maybe the lock of one.
    if (!live_.process_.is_this()) return;
    Lock lock(live_.mutex_);
    live_.taken_ = false;
    live_.returned_.notify_all();
}

void OpenedLive::check() const {
    if (closed_) throw Error(KOKORO_CANCELLED, "The speech was freed before its end: open another one.");
}

void OpenedLive::close() {
    closed_ = true;
    if (leases_here || !process_.is_this()) return;
    Lock lock(mutex_);
    returned_.wait(lock, [&] { return !taken_; });
}

kokoro_live *open_live(std::shared_ptr<OpenedLive> live) {
    Handles &all = Handles::handles();
    Lock lock(all.mutex);
    const uintptr_t number = all.next;
    all.lives.emplace(number, std::move(live));
    all.next += NEXT_NUMBER;
    return reinterpret_cast<kokoro_live *>(number);
}

std::shared_ptr<OpenedLive> find_live(const kokoro_live *handle) {
    if (!handle) throw Error(KOKORO_ARGUMENT_TYPE_ERROR, "The argument 'live' must not be NULL.");
    Handles &all = Handles::handles();
    Lock lock(all.mutex);
    auto found = all.lives.find(reinterpret_cast<uintptr_t>(handle));
    if (found != all.lives.end()) return found->second;
    throw Error(KOKORO_STREAM_CLOSED_ERROR, "The argument 'live' is none that kokoro_live_open has made, or it was "
                                            "freed: open another speech.");
}

std::shared_ptr<OpenedLive> take_live(const kokoro_live *handle) {
    Handles &all = Handles::handles();
    Lock lock(all.mutex);
    auto found = all.lives.find(reinterpret_cast<uintptr_t>(handle));
    if (found == all.lives.end()) return nullptr;
    std::shared_ptr<OpenedLive> live = std::move(found->second);
    all.lives.erase(found);
    return live;
}

}  // namespace kokoro
