// English text to words with phonemes.
//
// text → controls → written forms → tokens → tags → phonemes, from right to left → words
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "../speech/words.h"
#include "compounds.h"
#include "controls.h"
#include "homographs.h"
#include "letter_to_sound.h"
#include "tagger.h"
#include "tokens.h"

namespace kokoro::text {

// The files for a dialect of English; both dialects may share all but the lexicon. Not for several threads at
// once.
struct EnglishData {
    std::shared_ptr<Lexicon> lexicon;
    std::shared_ptr<Tagger> tagger;
    std::shared_ptr<Homographs> homographs;
    std::shared_ptr<LetterToSound> letter_to_sound;
};

// A G2P for one dialect.
class English {
public:
    English(EnglishData data, bool british)
        : data_(std::move(data)), british_(british), pronunciation_(*data_.lexicon, british) {}

    // Returns the words of a text. The words and the white space after each make up the text without its
    // controls. A word that cannot be spoken has no phonemes. Throws TEXT_DATA_ERROR.
    std::vector<Word> words(View text);

private:
    // What holds for places of the text that is being read.
    struct Places {
        std::vector<const Control *> controls;  // the control that each lies in, or null
        std::vector<bool> in_run;               // it lies in a run that is too long for a word or an address
    };
    using Tokens = std::vector<Token>;
    using Group = std::pair<size_t, size_t>;  // the tokens of a word: the first, and the one after the last

    void add_sentence(const Tokens &sentence, const Places &places, View shown, size_t &end,
                      std::vector<Word> &words);
    Tokens tagged(const Tokens &sentence);
    std::pair<Phonemes, Context> phonemes(const Tokens &tokens, Group group, const Context &context,
                                          const Places &places);
    Phonemes other(const Part &part, const Context &context, bool in_run);
    Phonemes unlisted(const Text &letters, View written, const Phonemes &known, bool in_run);
    Phonemes spelled_out(View letters, bool in_run);
    Text said(View words, const Context &context);
    Text phonemes_of(View words, Context context);

    EnglishData data_;
    bool british_;
    Pronunciation pronunciation_;
    std::unordered_map<Text, Text> said_;  // bounded
};

}  // namespace kokoro::text
