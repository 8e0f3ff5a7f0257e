// Sentences of a written text, as a careful reader sets them, in all of Kokoro's languages.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace kokoro {

// Returns the start and the end of every sentence, without the white space around it. A blank line ends a
// sentence, and so does the end of a line that was not wrapped. A sentence goes on after brackets within it,
// and after what is quoted if it continues in lower case.
// `cased` tells that a text before this one has capital letters, `column` how many of its characters are on its last line.
std::vector<std::pair<size_t, size_t>> find_sentences(std::u32string_view text, bool cased = false, size_t column = 0);

// Returns whether a bracket before `end` may still be closed soon by what follows on a text.
bool bracket_is_open(std::u32string_view text, size_t end);

}  // namespace kokoro
