// Files of audio.
#pragma once

#include <cstddef>
#include <string>

namespace kokoro {

// Writes mono samples to a WAV file of 16 bits, whole or not at all. Throws OUTPUT_ERROR.
void write_wav(const std::string &path, const float *samples, size_t count, unsigned sample_rate);

}  // namespace kokoro
