// Which pronunciation of a homograph is meant: a linear model over the words and tags around it, in integers.
// `runtime_min/text/homographs.py` describes it.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "../base/unicode.h"

namespace kokoro::text {

class Homographs {
public:
    // Takes the file's content. Throws TEXT_DATA_ERROR if it is not such a file.
    explicit Homographs(std::string data);

    // Returns which pronunciation of a word of a sentence is meant: the key of its entry in the lexicon, such
    // as "VERB" or "DEFAULT"; phonemes, where the lexicon lacks the pronunciation; none for any other word.
    std::optional<Text> choose(const std::vector<View> &words, const std::vector<Text> &tags,
                               size_t index) const;

private:
    struct Word {
        Text positive, negative;
        bool shared;
    };

    long score(const Text &word, const std::vector<View> &words, const std::vector<Text> &tags, size_t index,
               bool shared) const;
    long weight(const Text &feature) const;

    std::string data_;
    size_t start_;  // of the weights
    std::unordered_map<Text, Word> words_;
};

}  // namespace kokoro::text
