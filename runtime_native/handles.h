// What an app holds in place of a bundle: a handle, and what keeps the bundle while a call uses it.
//
// A handle is a number that no other bundle of the process gets, and never an address. So a call with a handle that
// was freed, or with any other pointer, is refused, and touches no memory.
#pragma once

#include <cstdint>
#include <memory>

#include "bundle.h"
#include "include/kokoro.h"

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

}  // namespace kokoro
