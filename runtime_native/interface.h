// What all functions of the C interface do: no exception leaves them, and what they are given is checked.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "base/errors.h"
#include "engine/floating_point.h"
#include "include/kokoro.h"
#include "speech/request.h"
#include "speech/timing.h"

namespace kokoro {

// Keeps the message of the last failure of the calling thread, and returns its code.
kokoro_error fail(kokoro_error code, const char *message);
// Returns the message that was kept.
const char *last_message();

// Calls a function and returns what it threw as a code.
template <class Function>
kokoro_error guarded(Function function) noexcept {
    try {
        FloatingPointMode mode;
        function();
        return KOKORO_OK;
    } catch (const Error &failure) {
        return fail(failure.code, failure.what());
    } catch (const std::bad_alloc &) {
        return fail(KOKORO_RESOURCE_ERROR, "This machine is out of memory: free some, and try again.");
    } catch (const std::system_error &failure) {
        return fail(KOKORO_RESOURCE_ERROR, failure.what());
    } catch (const std::exception &failure) {
        return fail(KOKORO_INTERNAL_ERROR, failure.what());
    } catch (...) {
        return fail(KOKORO_INTERNAL_ERROR, "An unknown error occurred: please report this.");
    }
}

// Throws ARGUMENT_TYPE_ERROR for a null pointer.
void require(bool given, const char *argument);
// Returns a string of the caller's, or a default in place of NULL. Throws TEXT_ENCODING_ERROR with its field's name.
std::string text_of(const char *given, const char *field, const char *otherwise = "");
// Returns the options and the request of a caller in the form of this library.
kokoro_options known_options(const kokoro_options *options);
kokoro_request known_request(const kokoro_request *request);
// Returns what a caller asks for, without the input.
Request asked_for(const kokoro_request &given, bool whole);

// What a kokoro_audio points to.
class OwnedAudio : public kokoro_audio {
public:
    explicit OwnedAudio(Audio audio);

private:
    const kokoro_timing *timings(const std::vector<Timing> &from, std::vector<kokoro_timing> &to);

    Audio audio_;
    std::string text_;
    std::vector<std::string> texts_;
    std::vector<kokoro_timing> tokens_, words_;
};

// Calls a callback from a frame that nothing unwinds.
int call(kokoro_callback callback, const kokoro_audio *piece, void *user) noexcept;

}  // namespace kokoro
