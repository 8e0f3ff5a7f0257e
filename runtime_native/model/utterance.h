// The input of the model for one utterance, and its output.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace kokoro {

struct Statistics;

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
    bool fitted;  // the length is that of speed 1 over the speed, and not what kokoro makes of the speed
    std::shared_ptr<const Statistics> statistics = {};  // those of the voice, with which parts are decoded
};

// An utterance before the decoder, which takes four fifths of the time.
struct Prepared {
    std::vector<int64_t> durations;  // frames of each token, boundaries included
    std::vector<float> energy;       // two values a frame
    // Returns the samples, 600 a frame, of the frames from `start` to before `end`; the decoder knows nothing of the
    // others, but for the statistics, if those of the voice take the place of its own. Throws MODEL_OUTPUT_ERROR if the
    // samples are not finite.
    std::function<std::vector<float>(int64_t start, int64_t end, bool of_voice)> decode;
    std::shared_ptr<const Statistics> statistics = {};  // those of the utterance's voice
};

}  // namespace kokoro
