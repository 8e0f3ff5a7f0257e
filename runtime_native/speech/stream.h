// Speech that arrives piece by piece while the next piece is computed.
#pragma once

#include <functional>

#include "speak.h"

namespace kokoro {

// Hands the pieces to `take` on the calling thread, in order, until it returns false; meanwhile the next piece is
// computed, never more. With `steady` the first one is large enough that playing it cannot end before the next one is
// there. `stop` makes the computation of that piece end early if nobody wants it any more, also where `take` throws.
// Throws what the speech and `take` throw, and FORK_ERROR if `take` returns in a child process.
void stream(Speech &speech, bool steady, const std::function<bool(const Audio &)> &take,
            const std::function<void()> &stop);

}  // namespace kokoro
