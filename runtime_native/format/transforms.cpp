#include "transforms.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace kokoro {

namespace {

constexpr size_t TOGETHER = 64;  // numbers of a tap that are transformed at once, which stay in the cache

// Rounds to nearest, to even from a half.
uint16_t to_half(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    if (size >= 0x7f800000u) return static_cast<uint16_t>(sign | (size > 0x7f800000u ? 0x7e00u : 0x7c00u));
    if (size < 0x38800000u) {
        // A subnormal number: the addition rounds it to a multiple of 2^-24.
        float sum = std::fabs(value) + 0.5f;
        std::memcpy(&bits, &sum, sizeof bits);
        return static_cast<uint16_t>(sign | (bits - 0x3f000000u));
    }
    uint32_t rounded = size - 0x38000000u + 0xfffu + (size >> 13 & 1);
    return static_cast<uint16_t>(sign | std::min(rounded >> 13, 0x7c00u));
}

}  // namespace

double from_half(uint16_t half) {
    // No step has a subnormal number, which the app's thread may read as 0.
    uint32_t sign = (half & 0x8000u) << 16, exponent = half >> 10 & 31, mantissa = half & 0x3ffu;
    if (exponent == 0) return (sign ? -0x1p-24 : 0x1p-24) * mantissa;
    uint32_t bits = sign | (exponent == 31 ? 255 : exponent + 112) << 23 | mantissa << 13;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

std::vector<int64_t> transformed_shape(const Tensor &tensor, const Matrix &matrix) {
    std::vector<int64_t> shape = tensor.shape;
    shape[1] = static_cast<int64_t>(matrix.size());
    return shape;
}

void transform(const Tensor &tensor, const Matrix &matrix, const uint16_t *taps, uint16_t *products) {
    size_t blocks = tensor.shape[0], count = tensor.shape[1], size = tensor.shape[2] * tensor.shape[3];
    std::vector<double> widened(count * TOGETHER);
    for (size_t block = 0; block < blocks; block++, taps += count * size, products += matrix.size() * size) {
        for (size_t first = 0; first < size; first += TOGETHER) {
            size_t length = std::min(TOGETHER, size - first);
            for (size_t tap = 0; tap < count; tap++) {
                for (size_t i = 0; i < length; i++) widened[tap * TOGETHER + i] = from_half(taps[tap * size + first + i]);
            }
            for (size_t product = 0; product < matrix.size(); product++) {
                const std::vector<double> &row = matrix[product];
                double sums[TOGETHER];
                for (size_t i = 0; i < length; i++) sums[i] = row[0] * widened[i];
                for (size_t tap = 1; tap < count; tap++) {
                    for (size_t i = 0; i < length; i++) sums[i] += row[tap] * widened[tap * TOGETHER + i];
                }
                uint16_t *to = products + product * size + first;
                for (size_t i = 0; i < length; i++) to[i] = to_half(static_cast<float>(sums[i]));
            }
        }
    }
}

}  // namespace kokoro
