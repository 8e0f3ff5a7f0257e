// Spanish numbers, signs and abbreviations in words.
#pragma once

#include "../base/strings.h"

namespace kokoro::text::spanish {

// Returns the words by abbreviations, without the full stop.
const Table &abbreviations();

// Returns what is between two spaces in words of lower-case letters. Numbers and signs become words, and
// letters without a vowel their names. Nothing remains of a sign that has no name, and of letters of another
// script.
std::vector<Text> in_letters(View written);

}  // namespace kokoro::text::spanish
