// Silence at the ends of speech.
#pragma once

#include <cstddef>
#include <utility>

namespace kokoro {

// Returns the bounds of the speech in samples, or of all of them if all are silent.
std::pair<size_t, size_t> find_speech(const float *samples, size_t count);

}  // namespace kokoro
