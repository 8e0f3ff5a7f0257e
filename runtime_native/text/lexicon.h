// Words and their phonemes in a file that is searched as it is; bundles/FORMAT.md describes it.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "../base/unicode.h"

namespace kokoro::text {

// A word of the lexicon.
struct Entry {
    bool gold;      // checked by hand
    Text phonemes;  // where no tag of `others` holds; empty if the word is spelled
    std::vector<std::pair<Text, Text>>
        others;  // by part of speech, or `None` for the last word before a pause

    const Text *other(View tag) const;
};

// The lexicon of one dialect. Not for several threads at once.
class Lexicon {
public:
    // Takes the file's content. Throws TEXT_DATA_ERROR if it is not such a file.
    explicit Lexicon(std::string data);

    // Returns the entry of exactly this word, null if it has none; valid until the next call. Throws
    // TEXT_DATA_ERROR.
    const Entry *find(View word);

private:
    struct Block {
        std::string words;  // between line feeds
        std::string values;
    };

    std::optional<Entry> search(const std::string &word);
    const Block &block(size_t number);
    Entry entry(std::string_view codes) const;

    std::string data_;
    size_t start_;  // of the blocks
    Text phonemes_;
    std::vector<std::string_view> first_words_;
    std::vector<uint32_t> ends_;
    // Bounded, because a text may have ever new words.
    std::unordered_map<size_t, Block> blocks_;
    std::unordered_map<std::string, std::optional<Entry>> found_;
};

}  // namespace kokoro::text
