// Samples as bytes: bare, or below the header of a WAV file.
#pragma once

#include <cstddef>
#include <string>

namespace kokoro {

// Returns samples, clipped to full scale and rounded to 16 bits, as little-endian bytes.
std::string encode(const float *samples, size_t count);

// Returns the header of a mono WAV file of so many samples of 16 bits. Throws OUTPUT_ERROR if it cannot hold them.
std::string wav_header(unsigned sample_rate, size_t samples);

}  // namespace kokoro
