// Kana to Kokoro's phonemes, as misaki has them.
#pragma once

#include <optional>
#include <string_view>

#include "../base/unicode.h"

namespace kokoro::text::kana {

// Returns the katakana of a reading in a file.
Text decoded(std::string_view data);

// Returns true if a character is a mark that changes the kana before it.
bool is_voicing(char32_t letter);

// Returns a kana with such a mark, 0 if it has none.
char32_t voiced(char32_t letter, char32_t mark);

// Returns the phonemes of kana, none if there is another character. A small kana that makes no sound with the kana
// before it is silent, or takes the place of its vowel.
std::optional<Text> phonemes(View written);

}  // namespace kokoro::text::kana
