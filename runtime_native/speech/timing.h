// Timings of tokens and words, by the rule of kokoro's `KPipeline.join_timestamps`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../format/signatures.h"
#include "words.h"

namespace kokoro {

// A phoneme or word and its time, in seconds from the beginning of the whole speech.
struct Timing {
    std::u32string text;
    double start;
    double end;
};

// Speech, or a piece of it.
struct Audio {
    std::vector<float> samples;
    std::vector<int64_t> durations;  // frames of each token, boundaries included
    std::u32string phonemes;
    std::vector<Timing> tokens;
    std::vector<Timing> words;
    double start = 0;  // seconds from the beginning of the whole speech
    std::vector<Unspoken> unspoken;

    // Adds the next piece of the same speech.
    void append(Audio &&piece);
};

// The places of a passage's phonemes in the output, filled piece by piece.
class Clock {
public:
    Clock(std::u32string phonemes, std::vector<WordSpan> words);

    // Puts the phonemes from `first` to before `end` into the output, at whose sample `start` their rendering begins,
    // earlier by the lead.
    // `starts` has the samples of the rendering at which they begin, and the end of the last.
    void place(size_t first, size_t end, int64_t start, const int64_t *starts);

    std::vector<Timing> tokens(size_t first, size_t end) const;

    // Returns the timings of the words that end by `end`, with their space, and are still to come.
    std::vector<Timing> words(size_t end);

private:
    Timing word(const WordSpan &word) const;

    std::u32string phonemes_;
    std::vector<WordSpan> words_;
    size_t next_word_ = 0;
    std::vector<int64_t> starts_;
    std::vector<int64_t> lengths_;
};

}  // namespace kokoro
