// Stress of words: its marks, and moving them.
#pragma once

#include <optional>

#include "../base/unicode.h"

namespace kokoro::text {

constexpr char32_t PRIMARY = U'ˈ', SECONDARY = U'ˌ';
constexpr View VOWELS = U"AIOQWYaiuæɑɒɔəɛɜɪʊʌᵻ";  // phonemes that a syllable has one of

// Returns a word's phonemes with another stress: 0.5 gives an unstressed word secondary stress, 1 also makes
// secondary stress primary, 2 gives every word primary stress; 0 and -0.5 make primary stress secondary, -1
// also removes secondary stress, -2 removes all; none changes nothing.
Text restressed(View phonemes, std::optional<double> stress);

// Returns the length of a word, of which diphthongs and affricates count twice.
size_t weight(View phonemes);

}  // namespace kokoro::text
