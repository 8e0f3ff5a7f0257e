#include "stretch.h"

#include <algorithm>
#include <cmath>

#include "join.h"

namespace kokoro {

namespace {

constexpr double SLOWEST = 0.6, FASTEST = 1.1;   // speeds that the model itself goes well
constexpr size_t BLOCK = 480;                    // 20 ms
constexpr size_t COARSE = 4;                     // every fourth shift is tried, and then those around the best one
constexpr size_t MARGIN = 3'000;                 // zeros around: more than a block is moved or reaches beyond

}  // namespace

double model_speed(double speed) { return SLOWEST <= speed && speed <= FASTEST ? speed : 1; }

size_t stretched_length(size_t count, double speed) { return size_t(std::nearbyint(double(count) / speed)); }

std::vector<float> stretch(const std::vector<float> &samples, double speed) {
    size_t count = stretched_length(samples.size(), speed), place = MARGIN;
    std::vector<float> padded(samples.size() + 2 * MARGIN), found;
    std::copy(samples.begin(), samples.end(), padded.begin() + MARGIN);
    for (size_t end = BLOCK; end < count + BLOCK; end += BLOCK) {
        const float *left = padded.data() + place;
        size_t start = MARGIN + end * samples.size() / count - BLOCK;
        size_t first = start - LARGEST_SHIFT, number = 2 * LARGEST_SHIFT / COARSE + 1;
        start = best_place(left, padded.data(), first, COARSE, number, BLOCK);
        start = best_place(left, padded.data(), start - COARSE + 1, 1, 2 * COARSE - 1, BLOCK);
        std::vector<float> block = crossfade(left, padded.data() + start, BLOCK);
        found.insert(found.end(), block.begin(), block.end());
        place = start + BLOCK;
    }
    found.resize(count);
    return found;
}

}  // namespace kokoro
