// Italian text to phonemes as espeak-ng writes them: by rule, and by the accents of irregular words.
//
// "telefono" -> with its accent "telèfono" -> sounds "telˈɛfono" -> in its clause "il telˈɛfono"
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "../speech/words.h"
#include "../base/unicode.h"

namespace kokoro::text::italian {

// Words that the rules would misread, each with the accent that it has in a dictionary, or how it would be
// spelled.
using Accents = std::unordered_map<Text, Text>;

// Returns the words of a bundle's file. Throws TEXT_DATA_ERROR if it is not text.
Accents read_accents(std::string_view data);

// Returns the words and marks of an Italian text with their phonemes.
std::vector<Word> words(View text, const Accents &accents);

}  // namespace kokoro::text::italian
