#include "alignment.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "../base/errors.h"

namespace kokoro {

namespace {

constexpr float MOST_FRAMES = 1 << 24;  // far more than any bundle holds, so that no sum overflows
constexpr int HALVINGS = 24;

int64_t sum_of_durations(const Floats &predicted, double speed) {
    std::vector<int64_t> durations = round_durations(predicted, speed);
    return std::accumulate(durations.begin(), durations.end(), int64_t(0));
}

}  // namespace

std::vector<int64_t> round_durations(const Floats &predicted, double speed) {
    std::vector<int64_t> durations;
    for (float each : predicted) {
        if (!std::isfinite(each)) {
            throw Error(KOKORO_MODEL_OUTPUT_ERROR,
                        "The stage 'duration' computed durations that are not finite: expected numbers. The weights "
                        "are damaged or the libraries wrong; verify the bundle or export it again.");
        }
        float frames = std::nearbyint(each / static_cast<float>(speed));
        durations.push_back(static_cast<int64_t>(std::clamp(frames, 1.0f, MOST_FRAMES)));
    }
    return durations;
}

double fitted_speed(const Floats &predicted, double speed) {
    if (speed == 1) return speed;
    double wanted = double(sum_of_durations(predicted, 1)) / speed;
    double slow = speed / 2, fast = speed * 2;
    for (int halving = 0; halving < HALVINGS; halving++) {
        double middle = (slow + fast) / 2;
        (double(sum_of_durations(predicted, middle)) > wanted ? slow : fast) = middle;
    }
    return fast;
}

Floats align(const Floats &features, const std::vector<int64_t> &durations, int64_t frames) {
    size_t channels = features.size() / durations.size();
    Floats aligned(channels * frames);
    auto from = features.begin();
    auto to = aligned.begin();
    for (size_t channel = 0; channel < channels; channel++) {
        for (int64_t duration : durations) to = std::fill_n(to, duration, *from++);
    }
    return aligned;
}

}  // namespace kokoro
