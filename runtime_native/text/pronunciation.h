// Phonemes of single English words: the lexicon, words that depend on their place, inflections, letters. The
// rules are those of misaki, which made the phonemes that Kokoro was trained with.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>

#include "lexicon.h"

namespace kokoro::text {

using Phonemes = std::optional<Text>;

// The beginning of what follows a word.
struct Context {
    std::optional<bool> vowel;  // it begins with a vowel; none if nothing follows before a pause
    bool to = false;            // the next word is *to*
};

// Returns the word that a symbol such as % is spoken as, empty if there is none.
View symbol_word(View text);

// Words of one dialect to phonemes.
class Pronunciation {
public:
    Pronunciation(Lexicon &lexicon, bool british) : lexicon_(lexicon), british_(british) {}

    // Returns the phonemes of a word, with straight apostrophes, or none if neither the lexicon nor a rule
    // knows it.
    Phonemes word(View word, View tag, const Context &context);
    // Returns the names of the word's letters, the last one stressed; none unless all have one.
    Phonemes spelled(View word);
    // Returns the phonemes of a word with 's after it.
    Text possessive(View phonemes) const { return with_suffix(phonemes, U"s", {}); }

private:
    using Stress = std::optional<double>;

    Phonemes find(View word, View tag, const Context &context);
    bool is_known(View word);
    const Entry *entry(View word, bool gold);
    const Entry *gold(View word) { return entry(word, true); }
    const Entry *silver(View word) { return entry(word, false); }
    Phonemes special(View word, View tag, const Context &context);
    Phonemes depending(View word, View lower, View tag, const Context &context);
    Phonemes listed(View word);
    bool is_capitalised(View word, View tag, const Context &context);
    Phonemes look_up(View written, View tag, Stress stress, const Context &context);
    Phonemes inflected(View word, View tag, Stress stress, const Context &context);
    Text with_suffix(View phonemes, View suffix, View stem) const;

    Lexicon &lexicon_;
    bool british_;
    std::unordered_map<Text, Phonemes> known_;  // bounded
};

}  // namespace kokoro::text
