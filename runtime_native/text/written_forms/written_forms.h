// Numbers and other written forms of English, as the words that are said for them.
#pragma once

#include <vector>

#include "../../base/unicode.h"

namespace kokoro::text {

// A part of a text, and the words for it, with single spaces between; a single capital letter is the
// name of the letter.
struct WrittenForm {
    size_t start, end;
    Text spoken;
};

// Returns the parts of an English text that are not said as they are spelled, in order, without overlaps.
std::vector<WrittenForm> find_written_forms(View text, bool british);

}  // namespace kokoro::text
