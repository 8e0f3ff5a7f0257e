#include "alignment.h"

#include <algorithm>
#include <cmath>

#include "../base/errors.h"

namespace kokoro {

namespace {

constexpr float MOST_FRAMES = 1 << 24;  // far more than any bundle holds, so that no sum overflows

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
