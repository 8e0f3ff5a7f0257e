// Phonemes of words that are written without white space between them, such as *mother-in-law* or *R2-D2*.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "pronunciation.h"

namespace kokoro::text {

// A part of a compound: letters, digits, or one other character.
struct Part {
    Text text, tag;
    Phonemes spoken;  // the words that are spoken for it, if they are not those that are written
};

// Makes phonemes of a part that is no word of the dialect; none if it cannot be spoken.
using SpeakPart = std::function<Phonemes(const Part &, const Context &)>;

// Returns the parts of a token; *iPhone* and *Prof.* have two.
std::vector<Part> parts_of(View text, View tag, const Phonemes &spoken);

// Returns the context before a word, from its phonemes and the context after it.
Context following(View phonemes, View text, const Context &context);

// Returns the phonemes of each part, and the context before the first. From the right, as many parts as
// possible are read as one word.
std::pair<std::vector<Phonemes>, Context> compound(const std::vector<Part> &parts, Context context,
                                                   Pronunciation &pronunciation, const SpeakPart &other);

// Returns the phonemes of a compound: as one word with fewer stresses, or as words of their own.
Text joined(const std::vector<Part> &parts, const std::vector<Phonemes> &spoken);

}  // namespace kokoro::text
