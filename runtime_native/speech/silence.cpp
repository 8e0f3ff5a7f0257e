#include "silence.h"

#include <algorithm>
#include <cmath>

#include "sums.h"

namespace kokoro {

namespace {

constexpr size_t SAMPLES_OF_WINDOW = 240;  // 10 ms
constexpr double QUIET = 1e-2;  // 40 dB below the loudest window is silence

}  // namespace

std::vector<double> levels(const std::vector<float> &samples) {
    std::vector<double> found;
    for (size_t start = 0; start < samples.size(); start += SAMPLES_OF_WINDOW) {
        size_t count = std::min(SAMPLES_OF_WINDOW, samples.size() - start);
        auto square = [&](size_t index) {
            double value = samples[start + index];
            return value * value;
        };
        found.push_back(std::sqrt(pairwise_sum(square, count) / double(count)));
    }
    return found;
}

std::optional<std::pair<size_t, size_t>> find_speech(const std::vector<double> &levels, double loudest) {
    auto is_loud = [&](double level) { return level > QUIET * loudest; };
    auto first = std::find_if(levels.begin(), levels.end(), is_loud);
    if (first == levels.end()) return {};
    auto behind = levels.rend() - std::find_if(levels.rbegin(), levels.rend(), is_loud);
    return std::pair(SAMPLES_OF_WINDOW * size_t(first - levels.begin()), SAMPLES_OF_WINDOW * size_t(behind));
}

}  // namespace kokoro
