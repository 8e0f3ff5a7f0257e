// Voices: their tables of style rows.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "../format/bundle_files.h"

namespace kokoro {

// Every voice's table by name, `rows` times `columns` values, read when it is first needed.
class VoiceTables {
public:
    VoiceTables(BundleFiles &files, const Manifest &manifest);

    const std::vector<std::string> &names() const { return names_; }

    // Returns a voice's table. Throws DAMAGED_FILE_ERROR and CHANGED_FILE_ERROR.
    const std::vector<float> &table(const std::string &name);

private:
    BundleFiles &files_;
    const Manifest &manifest_;
    std::vector<std::string> names_;
    std::mutex mutex_;  // of the tables
    std::map<std::string, std::vector<float>> tables_;
};

}  // namespace kokoro
