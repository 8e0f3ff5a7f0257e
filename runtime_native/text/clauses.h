// A text divided into clauses of words, and the marks between them.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "../speech/words.h"
#include "../base/strings.h"
#include "written_words.h"

namespace kokoro::text {

// A mark or a word, and the white space after it.
struct ClauseToken {
    Text mark;  // empty for a word
    Text word, space;
    std::optional<Text> phonemes = {};  // those that the text gives
};

using Clause = std::vector<ClauseToken>;

// Returns the words of a clause with their phonemes.
using SpeakClause = std::function<std::vector<Word>(const Clause &clause)>;

// Returns the words and marks of a text with their phonemes, none for a word that has none. The full stop of
// one of the abbreviations, which are in lower case, is a part of it if another word follows.
std::vector<Word> read_clauses(View text, const SpeakClause &speak, const Texts &abbreviations);

}  // namespace kokoro::text
