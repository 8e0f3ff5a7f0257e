// Makes speech faster or slower and leaves its pitch.
#pragma once

#include <cstddef>
#include <vector>

namespace kokoro {

// Returns the speed of the model for speech at `speed`: the same within its range, or 1.
double model_speed(double speed);

// Returns the number of samples to which `stretch` brings `count`.
size_t stretched_length(size_t count, double speed);

// Returns the samples at another speed; 2 is twice as fast.
std::vector<float> stretch(const std::vector<float> &samples, double speed);

}  // namespace kokoro
