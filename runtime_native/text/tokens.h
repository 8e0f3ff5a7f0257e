// English text as tokens: words, numbers, hyphens and marks, as the Penn Treebank has them.
#pragma once

#include <vector>

#include "pronunciation.h"

namespace kokoro::text {

constexpr View UNKNOWN = U"XX";  // tag of what is not spoken in English

// A token and its place in the text.
struct Token {
    Text text;
    size_t start, end;
    Text tag;                // its tag, if the token itself decides it; otherwise empty
    Phonemes phonemes = {};  // its phonemes, if the token itself decides them, as a mark does
    Phonemes spoken = {};    // the words that are spoken for it, if they are not those that are written
};

// Returns the tokens of a text with straight apostrophes; between the known ones, which are in order, it is
// split.
std::vector<Token> tokenise(View text, const std::vector<Token> &known);

}  // namespace kokoro::text
