#include "stretch.h"

#include <algorithm>
#include <cmath>

#include "join.h"
#include "sums.h"

namespace kokoro {

namespace {

constexpr double SLOWEST = 0.6, FASTEST = 1.1;   // speeds that the model itself goes well
constexpr size_t BLOCK = 480;                    // 20 ms
constexpr size_t COARSE = 4;                     // every fourth shift is tried, and then those around the best one
constexpr size_t MARGIN = 3'000;                 // zeros around: more than a block is moved or reaches beyond

double product_sum(const float *one, const float *two) {
    return pairwise_sum([&](size_t index) { return double(one[index]) * double(two[index]); }, BLOCK);
}

// Returns which of the places `first`, `first + step`, … correlates best with `left`.
size_t alike(const float *left, const float *samples, size_t first, size_t step, size_t number) {
    size_t best = first;
    double highest = -INFINITY;
    for (size_t place = first; place < first + step * number; place += step) {
        const float *window = samples + place;
        double correlation = product_sum(window, left) / std::sqrt(product_sum(window, window) + 1e-12);
        if (correlation > highest) highest = correlation, best = place;
    }
    return best;
}

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
        start = alike(left, padded.data(), start - LARGEST_SHIFT, COARSE, 2 * LARGEST_SHIFT / COARSE + 1);
        start = alike(left, padded.data(), start - COARSE + 1, 1, 2 * COARSE - 1);
        std::vector<float> block = crossfade(left, padded.data() + start, BLOCK);
        found.insert(found.end(), block.begin(), block.end());
        place = start + BLOCK;
    }
    found.resize(count);
    return found;
}

}  // namespace kokoro
