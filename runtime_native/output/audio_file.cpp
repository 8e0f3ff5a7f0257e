#include "audio_file.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <system_error>

#include "../base/errors.h"
#include "wav.h"

namespace kokoro {

namespace {

namespace fs = std::filesystem;

// Writes a file beside its place and renames it, so that no half one is ever seen and an earlier one stays until then.
void replace_file(const fs::path &place, const std::string &content) {
    char name[32];
    std::snprintf(name, sizeof name, ".%08x%08x.part", std::random_device{}(), std::random_device{}());
    fs::path staging = place.parent_path() / name;
    try {
        std::ofstream file;
        file.exceptions(std::ios::failbit | std::ios::badbit);
        file.open(staging, std::ios::binary);
        file.write(content.data(), static_cast<std::streamsize>(content.size()));
        file.close();
        std::error_code none;
        if (fs::exists(place)) fs::permissions(staging, fs::status(place).permissions(), none);
        fs::rename(staging, place);
    } catch (...) {
        std::error_code none;
        fs::remove(staging, none);
        throw;
    }
}

}  // namespace

void write_wav(const std::string &path, const float *samples, size_t count, unsigned sample_rate) {
    std::string content = wav_header(sample_rate, count) + encode(samples, count);
    try {
        fs::path place = fs::u8path(path);
        // Through a link, as an ordinary write would go.
        if (fs::is_symlink(place)) place = fs::weakly_canonical(place);
        if (fs::exists(place) && !fs::is_regular_file(place)) {
            std::ofstream device;
            device.exceptions(std::ios::failbit | std::ios::badbit);
            device.open(place, std::ios::binary);
            device.write(content.data(), static_cast<std::streamsize>(content.size()));
            device.close();
        } else {
            replace_file(place, content);
        }
    } catch (const std::system_error &failure) {
        throw Error(KOKORO_OUTPUT_ERROR, path + " cannot be written (" + failure.code().message() +
                                             "). Check the path and the permissions, or name another file.");
    }
}

}  // namespace kokoro
