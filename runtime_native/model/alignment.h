// From predicted durations to frames: round, then repeat every token's column for as long as it lasts.
#pragma once

#include <cstdint>
#include <vector>

#include "../engine/stage_runner.h"

namespace kokoro {

// Returns the frames of each token: the prediction over the speed, to the nearest integer, from a half to the even
// one, and at least 1. Throws MODEL_OUTPUT_ERROR if a prediction is not finite.
std::vector<int64_t> round_durations(const Floats &predicted, double speed);

// Returns the speed for `round_durations` whose frames add up to those of speed 1 over `speed`, or to the next number
// below. Throws as `round_durations` does.
double fitted_speed(const Floats &predicted, double speed);

// Repeats each token's column of `features`, [channels, tokens], for its duration: [channels, frames].
Floats align(const Floats &features, const std::vector<int64_t> &durations, int64_t frames);

}  // namespace kokoro
