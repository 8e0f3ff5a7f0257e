#include "noise.h"

#include <cmath>

namespace kokoro {

namespace {

constexpr double UNIT = 0x1p-53;
constexpr double PI = 3.14159265358979323846;

// One block of Philox4x64-10 (Salmon et al. 2011): four words for a number of the block, which counts from 1.
void philox(uint64_t seed, uint64_t number, uint64_t words[4]) {
    uint64_t key[2] = {seed, 0}, counter[4] = {number, 0, 0, 0};
    for (int round = 0; round < 10; round++) {
        if (round) {
            key[0] += 0x9E3779B97F4A7C15;
            key[1] += 0xBB67AE8584CAA73B;
        }
        auto a = static_cast<unsigned __int128>(0xD2E7470EE14C6C93) * counter[0];
        auto b = static_cast<unsigned __int128>(0xCA5A826395121157) * counter[2];
        counter[0] = static_cast<uint64_t>(b >> 64) ^ counter[1] ^ key[0];
        counter[1] = static_cast<uint64_t>(b);
        counter[2] = static_cast<uint64_t>(a >> 64) ^ counter[3] ^ key[1];
        counter[3] = static_cast<uint64_t>(a);
    }
    for (int index = 0; index < 4; index++) words[index] = counter[index];
}

}  // namespace

Floats gaussian_noise(uint64_t seed, size_t count) {
    // A block gives four numbers; what is beyond the count is dropped.
    Floats noise((count + 3) / 4 * 4);
    for (size_t start = 0; start < noise.size(); start += 4) {
        uint64_t words[4];
        philox(seed, start / 4 + 1, words);
        for (size_t pair = 0; pair < 4; pair += 2) {
            double radius = std::sqrt(-2.0 * std::log(static_cast<double>((words[pair] >> 11) + 1) * UNIT));
            double angle = static_cast<double>(words[pair + 1] >> 11) * (2.0 * PI * UNIT);
            noise[start + pair] = static_cast<float>(radius * std::cos(angle));
            noise[start + pair + 1] = static_cast<float>(radius * std::sin(angle));
        }
    }
    noise.resize(count);
    return noise;
}

}  // namespace kokoro
