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

// Mean and variance of each channel, [2, channels], by the decoder's parameter. Never empty.
struct Statistics : Replacements {};

// The statistics of voices by name, read when they are first needed.
class VoiceStatistics {
public:
    // Throws MANIFEST_ERROR if the extension breaks its schema.
    VoiceStatistics(BundleFiles &files, const Manifest &manifest);

    // Returns the statistics of a voice, or none if they are not known. Throws DAMAGED_FILE_ERROR and
    // CHANGED_FILE_ERROR.
    std::shared_ptr<const Statistics> find(const std::string &name);

private:
    std::shared_ptr<const Statistics> read(const std::string &path) const;

    BundleFiles &files_;
    std::map<std::string, std::string> paths_;
    std::vector<std::pair<std::string, int64_t>> channels_;  // of each norm, in the order of the files
    std::mutex mutex_;                                       // of what was found
    std::map<std::string, std::shared_ptr<const Statistics>> found_;
};

// Returns the statistics of a voice, or none if they are not known, such as those of a blend. Throws BLEND_ERROR, and
// what `found` does.
std::shared_ptr<const Statistics> voice_statistics(VoiceStatistics &found, const Voices &voices,
                                                   const std::string &voice);

}  // namespace kokoro
