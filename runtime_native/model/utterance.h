// The input of the model for one utterance, and its output.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kokoro {

// The two halves of a style row.
struct Style {
    std::vector<float> decoder;
    std::vector<float> prosody;
};

// Checked input of one utterance.
struct Utterance {
    std::u32string phonemes;
    Style style;
    double speed;
    uint64_t seed;
};

struct Spoken {
    std::vector<float> samples;      // 600 for each frame
    std::vector<int64_t> durations;  // frames of each token, boundaries included
};

}  // namespace kokoro
