// Voices: their tables of style rows.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../format/bundle_files.h"

namespace kokoro {

// Every voice's table by name, `rows` times `columns` values, read when it is first needed.
class VoiceTables {
public:
    VoiceTables(BundleFiles &files, const Manifest &manifest);

    bool contains(const std::string &name) const { return voices_.count(name) > 0; }
    const std::vector<std::string> &names() const { return names_; }
    int64_t columns() const { return columns_; }

    // Returns a voice's table. Throws DAMAGED_FILE_ERROR and CHANGED_FILE_ERROR.
    const std::vector<float> &table(const std::string &name);

private:
    BundleFiles &files_;
    std::vector<std::string> names_;
    std::map<std::string, Voice> voices_;
    std::map<std::string, int64_t> ranks_;
    std::map<std::string, std::vector<float>> tables_;
    int64_t columns_;
};

}  // namespace kokoro
