#include "silence.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "sums.h"

namespace kokoro {

namespace {

constexpr size_t WINDOW = 240;    // 10 ms
constexpr double QUIET = 1e-3;    // 60 dB below the loudest window is silence
constexpr size_t MARGIN = 2;      // windows that stay on either side, so that no first sound is clipped

}  // namespace

std::pair<size_t, size_t> find_speech(const float *samples, size_t count) {
    std::vector<double> levels(count / WINDOW);
    for (size_t window = 0; window < levels.size(); window++) {
        auto square = [&](size_t index) {
            double value = samples[window * WINDOW + index];
            return value * value;
        };
        levels[window] = std::sqrt(pairwise_sum(square, WINDOW) / WINDOW);
    }
    double loudest = 0;
    for (double level : levels) loudest = std::max(loudest, level);
    auto is_loud = [&](double level) { return level > QUIET * loudest; };
    auto first = std::find_if(levels.begin(), levels.end(), is_loud);
    if (first == levels.end()) return {0, count};
    size_t last = levels.rend() - std::find_if(levels.rbegin(), levels.rend(), is_loud) + MARGIN;
    size_t start = first - levels.begin();
    return {start > MARGIN ? (start - MARGIN) * WINDOW : 0, last >= levels.size() ? count : last * WINDOW};
}

}  // namespace kokoro
