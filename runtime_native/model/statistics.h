// Statistics of voices, with which the decoder speaks a part of an utterance as loudly as in the whole.
// runtime_min/model/statistics.py has the reasons.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "../engine/stage_runner.h"
#include "../format/bundle_files.h"
#include "blend.h"

namespace kokoro {

// Phonemes of the shortest style row whose half for the decoder goes with them. runtime_min has the reason.
constexpr size_t SHORTEST_ROW = 130;

// Mean and variance of each channel, [2, channels], by the decoder's parameter. Never empty.
struct Statistics : Replacements {};

// The statistics of voices by name, read when they are first needed.
class VoiceStatistics {
public:
    // Throws MANIFEST_ERROR if the extension breaks its schema, or a norm's parameter has another shape.
    VoiceStatistics(BundleFiles &files, const Manifest &manifest);

    bool has(const std::string &name) const { return paths_.count(name) > 0; }

    // Returns means and deviations of a known voice as its file has them. Throws DAMAGED_FILE_ERROR and
    // CHANGED_FILE_ERROR.
    const std::vector<float> &numbers(const std::string &name);

    // Returns the statistics with such means and deviations.
    std::shared_ptr<const Statistics> made_of(const std::vector<double> &numbers) const;

private:
    std::vector<float> read(const std::string &path) const;

    BundleFiles &files_;
    std::map<std::string, std::string> paths_;
    std::vector<std::pair<std::string, int64_t>> channels_;  // of each norm, in the order of the files
    std::mutex mutex_;                                       // of what was found
    std::map<std::string, std::vector<float>> found_;
};

// Returns the statistics of a voice, or those of a blend, which are made of the weighted means of means and of
// deviations; none if they are not known, or if no norm takes any. Throws BLEND_ERROR, and what `found` does.
std::shared_ptr<const Statistics> voice_statistics(VoiceStatistics &found, const Voices &voices,
                                                   const std::string &voice);

}  // namespace kokoro
