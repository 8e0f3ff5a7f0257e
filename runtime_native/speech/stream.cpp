#include "stream.h"

#include <future>

#include "../base/threads.h"
#include "lead.h"

namespace kokoro {

namespace {

// The next piece, computed by a thread that uses the speech until it ends.
class Ahead {
public:
    Ahead(Speech &speech, bool steady, const std::function<void()> &stop) : speech_(speech), stop_(stop) {
        begin(steady);
    }

    // However a stream ends, an exception of the callback included, the thread has ended before the speech is gone.
    ~Ahead() {
        if (!next_.valid()) return;
        if (!process_.is_this()) {
            // A child process has no such thread to wait for.
            new auto(std::move(next_));
            return;
        }
        stop_();
        next_.wait();
    }

    void begin(bool steady = false) {
        next_ = std::async(std::launch::async, [=] { return steady ? steady_start(speech_) : speech_.next(); });
    }
    std::optional<Audio> get() {
        process_.check();
        return next_.get();
    }

private:
    Speech &speech_;
    const std::function<void()> &stop_;
    const Process process_;
    std::future<std::optional<Audio>> next_;
};

}  // namespace

void stream(Speech &speech, bool steady, const std::function<bool(const Audio &)> &take,
            const std::function<void()> &stop) {
    Ahead ahead(speech, steady, stop);
    while (auto piece = ahead.get()) {
        ahead.begin();
        if (!take(*piece)) return;
    }
}

}  // namespace kokoro
