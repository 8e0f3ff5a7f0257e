// Part-of-speech tags: a linear model over hashed features, in integers. `runtime_min/text/tagger.py`
// describes it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "../base/unicode.h"

namespace kokoro::text {

// Gives words the Penn Treebank's tags. Not for several threads at once.
class Tagger {
public:
    // Takes the file's content. Throws TEXT_DATA_ERROR if it is not such a file.
    explicit Tagger(std::string data);

    // Returns the tag of each word of a sentence.
    std::vector<Text> tag(const std::vector<View> &words);

private:
    static constexpr size_t DISTANCES = 5;

    // What a type of word contributes to the scores of the words around it.
    struct Type {
        uint32_t lower;  // the hash of the word in lower case
        std::array<std::vector<int16_t>, DISTANCES> scores;
    };

    void tag_chunk(const std::vector<View> &words, std::vector<Text> &tags);
    const Type &type_of(View word);
    template <typename Number>
    void add_row(uint64_t hash, std::vector<Number> &scores) const;

    std::string data_;
    size_t rows_, count_, start_;
    std::vector<Text> tags_;
    std::unordered_map<Text, Type> types_;
};

}  // namespace kokoro::text
