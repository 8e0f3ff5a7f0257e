// Silence at the ends of speech.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace kokoro {

constexpr size_t START_SILENCE = 480;  // 20 ms before the first window of speech stay, in which soft sounds begin

// Returns the RMS of each window of 10 ms; the last one may be shorter.
std::vector<double> levels(const std::vector<float> &samples);

// Returns the first sample of speech and the one after its last window, or none if all is silent. `loudest` is the
// greatest level of the whole speech so far.
std::optional<std::pair<size_t, size_t>> find_speech(const std::vector<double> &levels, double loudest);

}  // namespace kokoro
