#include "stream.h"

#include <future>

#include "../base/threads.h"

namespace kokoro {

namespace {

using Next = std::function<std::optional<Audio>()>;

// The next piece, computed by a thread that uses the speech until it ends.
class Ahead {
public:
    Ahead(const Next &compute, const std::function<void()> &stop) : compute_(compute), stop_(stop) { begin(); }

    // However a stream ends, an exception of the callback included, the thread has ended before the speech is gone.
    ~Ahead() {
        if (!next_.valid() || !THREADED) return;
        if (!process_.is_this()) {
            // A child process has no such thread to wait for.
            new auto(std::move(next_));
            return;
        }
        stop_();
        next_.wait();
    }

    void begin() { next_ = std::async(THREADED ? std::launch::async : std::launch::deferred, compute_); }
    std::optional<Audio> get() {
        process_.check();
        return next_.get();
    }

private:
    const Next &compute_;
    const std::function<void()> &stop_;
    const Process process_;
    std::future<std::optional<Audio>> next_;
};

}  // namespace

void stream(const Next &next, const std::function<bool(const Audio &)> &take, const std::function<void()> &stop) {
    Ahead ahead(next, stop);
    while (auto piece = ahead.get()) {
        ahead.begin();
        if (!take(*piece)) return;
    }
}

}  // namespace kokoro
