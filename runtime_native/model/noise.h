// The noise of the harmonic source, from a generator whose stream never changes; bundles/FORMAT.md has test vectors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../engine/stage_runner.h"

namespace kokoro {

// Returns the first `count` numbers of the Gaussian stream of a seed; a longer stream begins with the shorter one.
Floats gaussian_noise(uint64_t seed, size_t count);

}  // namespace kokoro
