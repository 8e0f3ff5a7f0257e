// Hashes of the features of the linear models.
#pragma once

#include <cstdint>
#include <string_view>

namespace kokoro {

constexpr uint64_t MULTIPLIER = 0x9E3779B97F4A7C15;

// Returns the checksum that zlib calls crc32.
uint32_t crc32(std::string_view bytes);

// Returns a power of the multiplier, modulo 2^64.
constexpr uint64_t multiplier_power(unsigned exponent) {
    uint64_t result = 1, square = MULTIPLIER;
    for (; exponent; exponent >>= 1, square *= square) {
        if (exponent & 1) result *= square;
    }
    return result;
}

// Returns a number of a file, little-endian.
inline uint32_t uint32_at(std::string_view data, size_t position) {
    uint32_t value = 0;
    for (size_t index = 4; index--;) value = value << 8 | static_cast<unsigned char>(data[position + index]);
    return value;
}

}  // namespace kokoro
