// Speech that arrives piece by piece while the next piece is computed.
#pragma once

#include <functional>
#include <optional>

#include "timing.h"

namespace kokoro {

// Hands the pieces that `next` returns to `take` on the calling thread, in order, until there is none or `take` returns
// false; meanwhile another thread computes the next piece, never more. `stop` makes the computation of that piece end
// early if nobody wants it any more, also where `take` throws. Throws what `next` and `take` throw, and FORK_ERROR if
// `take` returns in a child process.
void stream(const std::function<std::optional<Audio>()> &next, const std::function<bool(const Audio &)> &take,
            const std::function<void()> &stop);

}  // namespace kokoro
