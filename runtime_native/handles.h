// What an app holds in place of a bundle or of a speech whose text is pushed: a handle, and what keeps a bundle while a
// call uses it.
//
// A handle is a number that nothing else of the process gets, and never an address. So a call with a handle that
// was freed, or with any other pointer, is refused, and touches no memory.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/threads.h"
#include "bundle.h"
#include "include/kokoro.h"
#include "live.h"

namespace kokoro {

struct Opened;

// Returns the handle of a bundle.
kokoro_bundle *open_handle(std::unique_ptr<Bundle> bundle);

// Refuses further calls with a handle, cancels those that run, waits until they have returned, and frees the bundle.
// On a thread that runs a call itself, in a callback, it does not wait: the last call that returns frees the bundle.
// A handle that is not known is ignored.
void close_handle(const kokoro_bundle *handle);

// Cancels the calls that run. A handle that is not known is ignored.
void cancel_calls(const kokoro_bundle *handle);

// Keeps a bundle for a call, from the call's beginning to its end, on one thread.
class Lease {
public:
    // Throws ARGUMENT_TYPE_ERROR without a handle, and CLOSED_BUNDLE_ERROR if the handle is not known.
    explicit Lease(const kokoro_bundle *handle);
    ~Lease();
    Lease(const Lease &) = delete;
    Lease &operator=(const Lease &) = delete;

    const Bundle &bundle() const;
    // Returns the bundle for what needs its threads and locks. Throws FORK_ERROR in a child process.
    Bundle &speaker() const;
    // Returns a check that throws CANCELLED if the calls were cancelled, or the bundle freed, since this one began.
    CancelCheck cancel_check() const { return bundle().cancel_check(cancellations_); }

private:
    std::shared_ptr<Opened> opened_;
    uint64_t cancellations_;
};

// A speech whose text is pushed, as an app holds it.
class OpenedLive {
public:
    // Takes the bundle that computes the speech.
    OpenedLive(const kokoro_bundle *bundle, std::unique_ptr<LiveSpeech> speech)
        : bundle(bundle), speech(std::move(speech)) {}

    const kokoro_bundle *const bundle;
    const std::unique_ptr<LiveSpeech> speech;

    // The one call that takes the pieces.
    class Turn {
    public:
        // Throws USAGE_ERROR if another call has the turn.
        explicit Turn(OpenedLive &live);
        ~Turn();
        Turn(const Turn &) = delete;
        Turn &operator=(const Turn &) = delete;

    private:
        OpenedLive &live_;
    };

    // Throws CANCELLED once the speech was freed.
    void check() const;
    // Ends the call that takes the pieces, and waits for its end, unless the calling thread runs a call itself.
    void close();

private:
    const Process process_;
    std::mutex mutex_;
    std::condition_variable returned_;
    bool taken_ = false;
    std::atomic<bool> closed_{false};
};

// Returns the handle of a speech.
kokoro_live *open_live(std::shared_ptr<OpenedLive> live);
// Returns the speech of a handle. Throws ARGUMENT_TYPE_ERROR without a handle, and STREAM_CLOSED_ERROR if it is not known.
std::shared_ptr<OpenedLive> find_live(const kokoro_live *handle);
// Forgets a handle, and returns its speech; null if it is not known.
std::shared_ptr<OpenedLive> take_live(const kokoro_live *handle);

}  // namespace kokoro
