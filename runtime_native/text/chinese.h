// Chinese text to words with phonemes.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "../base/unicode.h"
#include "../speech/words.h"
#include "chinese_dictionary.h"

namespace kokoro::text::chinese {

using G2p = std::function<std::vector<Word>(View)>;

// Returns the words of a text; those of English words come from what `find_english` returns, none if that is
// empty. A space at the end of a word's phonemes comes before the next word.
std::vector<Word> words(View text, const ChineseDictionary &dictionary, const std::function<G2p()> &find_english);

}  // namespace kokoro::text::chinese
