// The network that spells words out, and the features of letters that it sees.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "../base/unicode.h"

namespace kokoro::text {

class Network {
public:
    // Takes the unpacked file. Throws TEXT_DATA_ERROR if its parts do not fit.
    explicit Network(const std::string &data);

    // Returns the likeliest phonemes of letters that a beam search finds.
    Text phonemes(const std::string &letters, bool british) const;

private:
    using Sums = std::vector<int64_t>;
    struct Path;

    void add_embedding(uint64_t hash, Sums &sums) const;
    std::vector<Sums> letters_around(const std::vector<Sums> &sums) const;
    std::vector<int64_t> costs(const Sums &embedded, const Sums &around, bool british) const;
    bool stresses(int sound) const { return stressing_[sound]; }

    size_t width_, hidden_, count_, shift_;
    uint32_t units_;
    std::vector<Text> classes_;
    std::vector<bool> stressing_;
    std::vector<uint32_t> known_;
    std::vector<int32_t> hidden_biases_, class_biases_[2];
    std::vector<int8_t> embeddings_, first_, last_;
};

}  // namespace kokoro::text
