// Readings of Chinese characters that have several, by a small network in integers. The network is g2pM's
// (Kyubyong Park and Seanie Lee, 2020); runtime_min/text/polyphones.py describes it, bundles/FORMAT.md its file.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "../base/unicode.h"

namespace kokoro::text {

class Polyphones {
public:
    // Takes the file's content. Throws TEXT_DATA_ERROR if it is no such file.
    explicit Polyphones(const std::string &data);

    // Returns the phonemes of those of the characters at `places` that have several readings.
    std::map<size_t, Text> phonemes(View text, const std::vector<size_t> &places) const;

private:
    static constexpr size_t STATES = 32;
    using State = std::array<int64_t, STATES>;
    struct Character {
        size_t row, first, readings;  // the first of its readings, and how many it has
    };
    struct Direction {
        std::vector<int64_t> input, recurrent, bias, sigmoid, tanh, cells;
    };

    void add_states(View piece, std::vector<State> &forward, std::vector<State> &backward) const;
    void step(const Direction &direction, size_t row, State &state, State &cell) const;
    size_t likeliest(const Character &character, const State &forward, const State &backward) const;

    uint32_t shift_ = 0;
    std::unordered_map<char32_t, Character> characters_;
    std::vector<int64_t> embeddings_, hidden_, hidden_bias_, scores_, scores_bias_;
    std::array<Direction, 2> directions_;
    std::vector<uint32_t> own_;
    std::vector<Text> phonemes_;
};

}  // namespace kokoro::text
