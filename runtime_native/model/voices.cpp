#include "voices.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "../base/errors.h"

namespace kokoro {

namespace {

constexpr float LARGEST_STYLE = 100;  // kokoro's reach 3.19; far larger ones overflow in the model

// Returns a matrix product with the same bits on every machine: every product and every sum is rounded, in order.
std::vector<float> product(const std::vector<float> &factors, int64_t rows, int64_t rank, int64_t columns) {
    std::vector<float> table(rows * columns);
    const float *right = factors.data() + rows * rank;
    for (int64_t row = 0; row < rows; row++) {
        const float *left = factors.data() + row * rank;
        float *sums = table.data() + row * columns;
        for (int64_t index = 0; index < rank; index++) {
            for (int64_t column = 0; column < columns; column++) {
                float value = left[index] * right[index * columns + column];
                sums[column] = index ? sums[column] + value : value;
            }
        }
    }
    return table;
}

}  // namespace

VoiceTables::VoiceTables(BundleFiles &files, const Manifest &manifest) : files_(files), manifest_(manifest) {
    for (const Voice &voice : manifest.voices) names_.push_back(voice.name);
}

const std::vector<float> &VoiceTables::table(const std::string &name) {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<float> &table = tables_[name];
    if (!table.empty()) return table;
    auto place = std::find(names_.begin(), names_.end(), name) - names_.begin();
    const Voice &voice = manifest_.voices.at(place);
    std::string content = files_.read(voice.file);
    std::vector<float> values(content.size() / sizeof(float));
    std::memcpy(values.data(), content.data(), content.size());
    auto rank = manifest_.voice_ranks.find(name);
    if (rank != manifest_.voice_ranks.end()) values = product(values, voice.rows, rank->second, voice.columns);
    // A value that is not a number fails every comparison.
    if (!std::all_of(values.begin(), values.end(), [](float each) { return std::abs(each) <= LARGEST_STYLE; })) {
        throw Error(KOKORO_DAMAGED_FILE_ERROR, "The voice file " + voice.file + " should have numbers from -100 to "
                                               "100 and has others: export the bundle again.");
    }
    return table = std::move(values);
}

}  // namespace kokoro
