// Words of Japanese text and their readings, in a file of hashes; bundles/FORMAT.md describes it. A text is divided
// where the words and their connections cost least, as MeCab does with UniDic.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "segmented.h"

namespace kokoro::text {

// The words and readings of a bundle.
class JapaneseDictionary {
public:
    // Takes the file's content. Throws TEXT_DATA_ERROR if it is no such file.
    explicit JapaneseDictionary(const std::string &data);

    // Calls `handle` with each word of a text, one after the other.
    void words(View text, const HandleWord &handle) const;

private:
    // A word that a text may have.
    struct Node {
        size_t start, end;
        int64_t entry;  // -1 for an unknown word
        uint32_t pair;
        int64_t cost;
        int64_t total = 0;
        int64_t before = -1;  // the node of the word before it, -1 at the beginning
    };

    void run(View text, size_t offset, const HandleWord &handle) const;
    std::vector<Node> divided(View text) const;
    std::vector<std::vector<Node>> nodes(View text) const;
    int64_t connection(uint32_t left, uint32_t right) const { return table_[left * rights_ + right]; }
    Text reading(View text, const Node &node) const;

    std::vector<uint64_t> words_, joined_;
    std::vector<uint32_t> ends_, sound_ends_, left_, right_;
    std::vector<uint16_t> pairs_;
    std::string costs_, sounds_;
    std::vector<int32_t> table_;
    size_t rights_ = 0;
    uint32_t before_ = 0, after_ = 0, unknown_pair_ = 0, unknown_cost_ = 0;
};

}  // namespace kokoro::text
