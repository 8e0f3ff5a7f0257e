// Spanish text to phonemes by rule: sounds, stress and allophones as espeak-ng writes them.
//
// "guerra" -> letters to sounds "geRa" -> stress "gˈeRa" -> in its clause "la ɣˈera"
#pragma once

#include <vector>

#include "../speech/words.h"
#include "../base/unicode.h"

namespace kokoro::text::spanish {

// Returns the words and marks of a Spanish text with their phonemes.
std::vector<Word> words(View text);

}  // namespace kokoro::text::spanish
