// Words of Chinese text and their readings, in a file of hashes; bundles/FORMAT.md describes it. Words are
// divided as jieba does, and read as pypinyin does where a phrase decides; else a network chooses the reading.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "polyphones.h"
#include "segmented.h"

namespace kokoro::text {

// The words and readings of a bundle.
class ChineseDictionary {
public:
    // Takes the file's content. Throws TEXT_DATA_ERROR if it is no such file.
    explicit ChineseDictionary(const std::string &data);

    // Calls `handle` with each word of a text of Chinese characters, one after the other.
    void words(View text, const HandleWord &handle) const;

private:
    static constexpr size_t STATES = 4;
    using Keys = std::vector<uint64_t>;
    using Costs = std::array<int64_t, STATES>;
    // Numbers of what begins at each place of a text, by length.
    using Places = std::vector<std::map<size_t, int64_t>>;
    // A phrase, or a character that no phrase decides.
    struct Part {
        size_t place, length;
        std::optional<size_t> first;  // the phrase's first syllable
    };

    static std::vector<Part> parts(size_t start, size_t end, const Places &phrases);

    void run(View text, size_t offset, const HandleWord &handle) const;
    std::vector<size_t> divided(View text, const Places &scores) const;
    void add_unknown(View text, size_t start, size_t end, const Places &scores, std::vector<size_t> &ends) const;
    std::vector<size_t> likeliest(View text) const;
    std::optional<Text> reading(View text, const std::vector<Part> &parts,
                                const std::map<size_t, Text> &chosen) const;

    Keys words_, phrases_;
    std::vector<uint32_t> scores_, ends_, spoken_, single_;
    int64_t cost_ = 0;
    Costs first_;
    std::array<Costs, STATES> steps_;
    std::vector<Costs> emissions_;
    std::vector<Text> syllables_;
    std::optional<Polyphones> polyphones_;
};

}  // namespace kokoro::text
