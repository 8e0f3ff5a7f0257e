// Digests of parts of large files, so that several threads can compare a file at once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "manifest.h"

namespace kokoro {

// A part of a file.
struct Block {
    int64_t start;
    int64_t bytes;
    std::string sha256;
    size_t number;  // counts from 1
    size_t last;    // number of the file's last block
};

// The blocks of a bundle's large files.
class Blocks {
public:
    // Reads `extensions.blocks`, if it is there. Throws MANIFEST_ERROR.
    static Blocks read(const Value &extensions, const std::map<std::string, FileEntry> &files);

    // Returns the blocks of a file, which is one block if no digests of it are listed.
    std::vector<Block> of(const FileEntry &entry) const;

private:
    int64_t bytes_ = 1;
    std::map<std::string, std::vector<std::string>> digests_;
};

}  // namespace kokoro
