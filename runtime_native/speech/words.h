// The input of speech: words with phonemes, and segments with a voice and speed of their own.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace kokoro {

// A word of a text, as a G2P makes it.
struct Word {
    std::u32string text;
    std::optional<std::u32string> phonemes;  // empty if the word is not spoken; none if it should be and cannot
    std::u32string whitespace;               // after the word; not empty if a space follows
};

// A part of the input that is spoken like an utterance of its own: either phonemes alone or words.
struct Segment {
    std::u32string phonemes;
    std::vector<Word> words;
    std::optional<std::string> voice;  // none: that of the request
    std::optional<double> speed;       // none: that of the request
    double pause = 0;                  // seconds of silence before the next segment
};

}  // namespace kokoro
