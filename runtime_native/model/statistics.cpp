#include "statistics.h"

#include <algorithm>
#include <cmath>

#include "../base/errors.h"
#include "../format/schema.h"
#include "../format/transforms.h"

namespace kokoro {

namespace {

constexpr char EXTENSION[] = "statistics";
constexpr std::string_view SUFFIX = ".statistics";  // ends the names of the parameters of norms

bool is_of_norm(const std::string &name) {
    return name.size() >= SUFFIX.size() && name.compare(name.size() - SUFFIX.size(), SUFFIX.size(), SUFFIX) == 0;
}

std::map<std::string, std::string> read_paths(const BundleFiles &files, const Value &extensions) {
    std::map<std::string, std::string> paths;
    const Value *extension = extensions.find(EXTENSION);
    if (!extension) return paths;
    const std::set<std::string> listed = files.expected();
    for (auto &[name, node] : Node(*extension, std::string("extensions.") + EXTENSION).named()) {
        paths[name] = node.relative_path();
        expect(listed.count(paths[name]), node.path, "a file of the list 'files'", paths[name]);
    }
    return paths;
}

// Returns the channels of each norm that takes statistics, by the decoder's parameter, in its order.
std::vector<std::pair<std::string, int64_t>> norm_channels(const Manifest &manifest) {
    std::vector<std::pair<std::string, int64_t>> channels;
    std::map<std::string, const Tensor *> tensors;
    for (const Tensor &tensor : manifest.tensors) tensors[tensor.name] = &tensor;
    std::set<std::string> known;
    for (const Stage &stage : manifest.stages) {
        if (stage.name != "decoder") continue;
        for (const std::string &name : stage.parameters) {
            if (!is_of_norm(name) || !known.insert(name).second) continue;
            const Tensor &tensor = *tensors.at(name);
            expect(tensor.dtype == "float32" && tensor.shape.size() == 2 && tensor.shape[0] == 2, "parameters.tensors",
                   "float32 [2, channels] as '" + name + "'", "another type or shape");
            channels.emplace_back(name, tensor.shape[1]);
        }
    }
    return channels;
}

}  // namespace

VoiceStatistics::VoiceStatistics(BundleFiles &files, const Manifest &manifest)
    : files_(files), paths_(read_paths(files, manifest.extensions)) {
    if (!paths_.empty()) channels_ = norm_channels(manifest);
}

const std::vector<float> &VoiceStatistics::numbers(const std::string &name) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto known = found_.find(name);
    if (known == found_.end()) known = found_.emplace(name, read(paths_.at(name))).first;
    return known->second;
}

std::vector<float> VoiceStatistics::read(const std::string &path) const {
    const std::string content = files_.read(path);
    int64_t expected = 0;
    for (const auto &entry : channels_) expected += 2 * entry.second;
    if (content.size() != 2 * static_cast<uint64_t>(expected)) {
        throw Error(KOKORO_DAMAGED_FILE_ERROR,
                    "The file " + path + " should have " + std::to_string(expected) + " numbers of 2 bytes and has " +
                        std::to_string(content.size()) + " bytes: export the bundle again.");
    }
    std::vector<float> numbers;
    for (size_t at = 0; at < content.size(); at += 2) {
        const auto low = static_cast<uint8_t>(content[at]), high = static_cast<uint8_t>(content[at + 1]);
        numbers.push_back(static_cast<float>(from_half(static_cast<uint16_t>(high << 8 | low))));
    }
    if (!std::all_of(numbers.begin(), numbers.end(), [](float each) { return std::isfinite(each); })) {
        throw Error(KOKORO_DAMAGED_FILE_ERROR,
                    "The file " + path + " should have finite numbers and has others: export the bundle again.");
    }
    return numbers;
}

std::shared_ptr<const Statistics> VoiceStatistics::made_of(const std::vector<double> &numbers) const {
    auto statistics = std::make_shared<Statistics>();
    auto number = numbers.begin();
    for (const auto &[name, channels] : channels_) {
        Floats values;
        for (auto end = number + 2 * channels; number != end; number++) values.push_back(static_cast<float>(*number));
        for (int64_t channel = channels; channel < 2 * channels; channel++) values[channel] *= values[channel];
        (*statistics)[name] = {{2, channels}, std::move(values)};
    }
    return statistics;
}

std::shared_ptr<const Statistics> voice_statistics(VoiceStatistics &found, const Voices &voices,
                                                   const std::string &voice) {
    const auto weights = voice_weights(voices, voice);
    auto is_known = [&](const auto &each) { return found.has(each.first); };
    if (!std::all_of(weights.begin(), weights.end(), is_known)) return nullptr;
    std::vector<double> sums;
    for (const auto &[name, weight] : weights) {
        const std::vector<float> &numbers = found.numbers(name);
        sums.resize(numbers.size());
        for (size_t at = 0; at < numbers.size(); at++) sums[at] += weight * double(numbers[at]);
    }
    return sums.empty() ? nullptr : found.made_of(sums);
}

}  // namespace kokoro
