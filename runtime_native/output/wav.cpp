#include "wav.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "../base/errors.h"

namespace kokoro {

namespace {

constexpr unsigned PCM = 1, CHANNELS = 1, WIDTH = 2;
constexpr size_t LARGEST = 0xFFFFFFFF;  // the largest size that a header holds
constexpr size_t HEADER = 44;

void append(std::string &bytes, uint32_t number, int width) {
    for (int byte = 0; byte < width; byte++) bytes += static_cast<char>(number >> 8 * byte & 0xFF);
}

}  // namespace

std::string encode(const float *samples, size_t count) {
    std::string bytes;
    bytes.reserve(count * WIDTH);
    for (size_t index = 0; index < count; index++) {
        float clipped = std::min(std::max(samples[index], -1.0f), 1.0f);
        append(bytes, static_cast<uint16_t>(static_cast<int16_t>(std::nearbyint(clipped * 32767.0f))), WIDTH);
    }
    return bytes;
}

std::string wav_header(unsigned sample_rate, size_t samples) {
    if (samples > (LARGEST - HEADER) / WIDTH) {
        throw Error(KOKORO_OUTPUT_ERROR, "The file would have " + std::to_string(samples) +
                                             " samples of 16 bits, and a WAV file holds 4 GiB: write several files.");
    }
    uint32_t size = static_cast<uint32_t>(samples * WIDTH);
    std::string header = "RIFF";
    append(header, size + HEADER - 8, 4);
    header += "WAVEfmt ";
    append(header, 16, 4);
    append(header, PCM, 2);
    append(header, CHANNELS, 2);
    append(header, sample_rate, 4);
    append(header, sample_rate * WIDTH, 4);
    append(header, WIDTH, 2);
    append(header, 8 * WIDTH, 2);
    header += "data";
    append(header, size, 4);
    return header;
}

}  // namespace kokoro
