#include "hashing.h"

#include <array>

namespace kokoro {

namespace {

constexpr std::array<uint32_t, 256> make_table() {
    std::array<uint32_t, 256> table{};
    for (uint32_t index = 0; index < 256; index++) {
        uint32_t value = index;
        for (int bit = 0; bit < 8; bit++) value = value >> 1 ^ (value & 1 ? 0xEDB88320 : 0);
        table[index] = value;
    }
    return table;
}

constexpr std::array<uint32_t, 256> TABLE = make_table();

}  // namespace

uint32_t crc32(std::string_view bytes) {
    uint32_t value = 0xFFFFFFFF;
    for (char byte : bytes) value = value >> 8 ^ TABLE[(value ^ static_cast<unsigned char>(byte)) & 0xFF];
    return ~value;
}

}  // namespace kokoro
