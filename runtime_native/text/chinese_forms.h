// Numbers, dates, money, units and signs in Chinese text, as they are read.
#pragma once

#include <optional>
#include <utility>

#include "../base/unicode.h"

namespace kokoro::text::chinese {

// Returns the end of a written form that starts at a place, and its reading in Chinese characters.
std::optional<std::pair<size_t, Text>> spoken_form(View text, size_t start, size_t end);

}  // namespace kokoro::text::chinese
