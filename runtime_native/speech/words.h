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
    std::optional<std::string> language = {};  // of text; none: that of the request, or else of the voice
};

// The phonemes of a word within a passage.
struct WordSpan {
    std::u32string text;
    size_t first;        // offset of its first phoneme
    size_t end;          // offset past its last phoneme
    bool spaced;         // a space follows the last phoneme
    size_t text_offset;  // offset of the word in the text, as far as words and white space show it
};

// A word without phonemes that are known: it is left out of the speech.
struct Unspoken {
    std::u32string text;
    size_t offset;  // in the text of all segments together, as far as words and white space show it
};

// A segment in one form, whatever the caller gave.
struct Passage {
    std::u32string phonemes;      // empty if nothing of its text can be spoken
    std::vector<WordSpan> words;  // empty where only phonemes are known
    std::u32string text;          // the text of all words and the white space between them
    std::vector<Unspoken> unspoken;
    std::optional<std::string> voice;
    std::optional<double> speed;
    double pause = 0;
};

// How a part of a text that arrives bit by bit goes on from the one before and into the next.
struct Link {
    std::u32string before;   // the phonemes before, which are read with it and not spoken again
    std::u32string after;    // phonemes of the word after it, which are read with it and not spoken yet
    bool is_open = false;    // what follows is read with this one before it
    bool is_spaced = false;  // white space follows
    bool is_last = false;    // the speech ends with it
};

// Puts a passage between its neighbours; the space behind it is its own.
void add_link(Passage &passage, const Link &link);

// Returns a segment in one form.
Passage read_segment(const Segment &segment);

}  // namespace kokoro
