// Classes of characters, as Python's `str` and `unicodedata` have them.
#pragma once

#include <string_view>

namespace kokoro {

inline bool is_one_of(char32_t character, std::u32string_view set) {
    return set.find(character) != std::u32string_view::npos;
}

// Returns true for what `str.isspace` and the pattern `\s` take for white space.
bool is_space(char32_t character);

// Returns true for the Unicode categories P (punctuation) and Z (separators).
bool is_gap(char32_t character);

// Returns a text without the white space at its beginning, its end, or both.
std::u32string_view strip_start(std::u32string_view text);
std::u32string_view strip_end(std::u32string_view text);
inline std::u32string_view strip(std::u32string_view text) { return strip_start(strip_end(text)); }

}  // namespace kokoro
