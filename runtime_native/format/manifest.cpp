#include "manifest.h"

#include <algorithm>

namespace kokoro {

int64_t item_size(const std::string &dtype) {
    return dtype == "int64" ? 8 : dtype == "float16" ? 2 : dtype == "int8" ? 1 : 4;
}

std::vector<Library> Stage::buckets(const std::string &of_level) const {
    std::vector<Library> found;
    for (const Library &library : libraries) {
        if (library.level == of_level) found.push_back(library);
    }
    return found;
}

bool Manifest::requires_of_reader(const std::string &name) const {
    return std::find(requirements.begin(), requirements.end(), name) != requirements.end();
}

std::set<std::string> Manifest::stage_files(const std::string &level) const {
    std::set<std::string> paths;
    for (const Stage &stage : stages) {
        for (const Library &library : stage.buckets(level)) paths.insert(library.file);
    }
    return paths;
}

}  // namespace kokoro
