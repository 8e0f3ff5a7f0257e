// Text without spaces between its words to words with phonemes, by the dictionary of its language.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "../base/pattern.h"
#include "../base/strings.h"
#include "../speech/words.h"
#include "segmented_forms.h"

namespace kokoro::text {

// How a language is written.
struct Writing {
    Table plain;                  // characters that are read as others
    Table marks;                  // marks and how they are spoken
    Pattern piece;                // of a piece of text: letters of the language, space, English, a mark, or other
    const SegmentedForms &forms;  // numbers, dates and other forms
    Text glued;                   // what a number after it is a word with
    // What stands for a number, for a foreign word and for other marks among the words of the dictionary, and the
    // marks that it knows itself; empty if a number is said by letters, and others divide a text. Forms are kana then.
    Text stand_ins;
};

// Takes the end of a word, and its phonemes: none if a character has no reading.
using HandleWord = std::function<void(size_t end, std::optional<Text> phonemes)>;
// Calls a function with each word of a text of letters, one after the other.
using DivideWords = std::function<void(View text, const HandleWord &handle)>;
using G2p = std::function<std::vector<Word>(View)>;

// Returns the words of a text; those of English words come from what `find_english` returns, none if that is empty.
// A space at the end of a word's phonemes comes before the next word.
std::vector<Word> segmented_words(View text, const Writing &writing, const DivideWords &divide,
                                  const std::function<G2p()> &find_english);

}  // namespace kokoro::text
