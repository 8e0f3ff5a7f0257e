#include "handles.h"

#include <pthread.h>

#include <condition_variable>
#include <map>
#include <mutex>

#include "base/errors.h"
#include "base/threads.h"

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
    uintptr_t next = FIRST_NUMBER;

    // Another thread may hold the mutex while the process forks, and it does not exist in the child.
    Handles() {
        pthread_atfork([] { handles().mutex.lock(); }, [] { handles().mutex.unlock(); },
                       [] { handles().mutex.unlock(); });
    }
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

}  // namespace kokoro
