#include "pronunciation.h"

#include "../base/utf8.h"
#include "../base/pattern.h"
#include "stress.h"
#include "../base/strings.h"
#include "../generated/tables.h"

namespace kokoro::text {

namespace {

constexpr size_t MOST_PRONOUNCED = 4096;

struct Stem {
    Pattern pattern;
    Text ending, suffix;
};

// Inflected words, the end of their stems and the suffix.
const std::vector<Stem> &stems() {
    static const std::vector<Stem> all = [] {
        std::vector<Stem> found;
        const unsigned char *patterns = tables::pronunciation::STEMS_PATTERNS;
        for (Row &row : rows(tables::pronunciation::STEMS)) {
            found.push_back({Pattern(&patterns), row[0], row[1]});
        }
        return found;
    }();
    return all;
}

bool is_alphabetic(View word) {
    if (word.empty()) return false;
    for (char32_t letter : word) {
        if (!((letter | 32) >= 'a' && (letter | 32) <= 'z')) return false;
    }
    return true;
}

Text parent(View tag) {
    View first = tag.substr(0, 2);
    return first == U"VB"   ? U"VERB"
           : first == U"NN" ? U"NOUN"
           : first == U"RB" ? U"ADV"
           : first == U"JJ" ? U"ADJ"
                            : Text(tag);
}

// Returns the phonemes of an entry for a part of speech.
Text chosen(const Entry &entry, View tag, const Context &context) {
    if (entry.others.empty()) return entry.phonemes;
    const Text *found = context.vowel ? nullptr : entry.other(U"None");
    if (!found) found = entry.other(tag);
    if (!found) found = entry.other(parent(tag));
    return found ? *found : entry.phonemes;
}

// Returns the word with a capital if it has none, or without its capital if it has one alone.
Text other_case(View word) {
    Text small = lower(word);
    if (word.size() < 2 || word.substr(1) != tail(small, 1)) return {};
    return word == small ? capitalize(word) : small;
}

}  // namespace

View symbol_word(View text) {
    static const Table symbols(tables::pronunciation::SYMBOLS);
    return symbols.get(text);
}

Phonemes Pronunciation::word(View word, View tag, const Context &context) {
    Text key(word);
    key += U'\n';
    key += tag;
    key += context.vowel ? *context.vowel ? U'+' : U'-' : U'0';
    key += context.to ? U't' : U'f';
    auto found = known_.find(key);
    if (found != known_.end()) return found->second;
    if (known_.size() == MOST_PRONOUNCED) known_.clear();
    return known_.emplace(key, find(word, tag, context)).first->second;
}

Phonemes Pronunciation::find(View word, View tag, const Context &context) {
    Stress stress;
    Text small = lower(word);
    if (word != small) stress = word == upper(word) ? 2 : 0.5;
    if (Phonemes found = special(word, tag, context)) return found;
    Text own = is_capitalised(word, tag, context) ? small : Text(word);
    if (is_known(own)) return look_up(own, tag, stress, context);
    if (ends_with(own, U"s'")) {
        Text possessive = own.substr(0, own.size() - 2) + U"'s";
        if (is_known(possessive)) return look_up(possessive, tag, stress, context);
    }
    if (ends_with(own, U"'")) {
        Text shorter = own.substr(0, own.size() - 1);
        if (is_known(shorter)) return look_up(shorter, tag, stress, context);
    }
    return inflected(own, tag, stress, context);
}

bool Pronunciation::is_known(View word) {
    if (gold(word) || silver(word) || !symbol_word(word).empty()) return true;
    if (!is_alphabetic(word)) return false;
    bool capitals = word == upper(word) && gold(lower(word));
    return word.size() == 1 || capitals || word.substr(1) == upper(word.substr(1));
}

Phonemes Pronunciation::spelled(View word) {
    Text names;
    bool any = false;
    for (char32_t letter : word) {
        if (!is_alpha(letter)) continue;
        const Entry *found = gold(upper(View(&letter, 1)));
        if (!found) return std::nullopt;
        names += found->phonemes;
        any = true;
    }
    if (!any) return std::nullopt;
    Text phonemes = restressed(names, 0);
    size_t last = phonemes.rfind(SECONDARY);
    if (last != Text::npos) phonemes[last] = PRIMARY;
    return phonemes;
}

// Returns the entry of a word, or that of the same word with or without a capital.
const Entry *Pronunciation::entry(View word, bool gold) {
    for (const Text &written : {Text(word), other_case(word)}) {
        const Entry *found = written.empty() ? nullptr : lexicon_.find(written);
        if (found && found->gold == gold) return found;
    }
    return nullptr;
}

// Returns the phonemes of a word that depends on what follows, and of symbols and initials.
Phonemes Pronunciation::special(View word, View tag, const Context &context) {
    static const Pattern initials(tables::pronunciation::INITIALS), versus(tables::pronunciation::VERSUS);
    static const Words dependent("a am an i by to in the used");
    Match found;
    if (View symbol = symbol_word(word); !symbol.empty()) return look_up(symbol, tag, {}, context);
    if (contains(strip(word, U"."), U'.') && initials.match(word, 0, word.size(), found))
        return spelled(word);
    if (tag == U"IN" && versus.match(word, 0, word.size(), found))
        return look_up(U"versus", tag, {}, context);
    Text small = lower(word);
    return dependent.has(small) ? depending(word, small, tag, context) : std::nullopt;
}

Phonemes Pronunciation::depending(View word, View small, View tag, const Context &context) {
    bool shouted = word.size() > 1 && is_upper(word);
    if (small == U"a") return tag == U"DT" ? U"ɐ" : U"ˈA";
    if (word == U"I" && tag == U"PRP") return U"ˌI";
    if ((small == U"am" || small == U"an") && starts_with(tag, U"NN") && shouted) return spelled(word);
    if (small == U"am") return context.vowel && word == U"am" ? Text(U"ɐm") : listed(U"am");
    if (small == U"an") return U"ɐn";
    if (small == U"by") return parent(tag) == U"ADV" ? Phonemes(U"bˈI") : std::nullopt;
    if (small == U"to" && (!shouted || tag == U"TO" || tag == U"IN")) {
        return !context.vowel ? listed(U"to") : *context.vowel ? U"tʊ" : U"tə";
    }
    if (small == U"in" && (!shouted || tag != U"NNP")) return !context.vowel || tag != U"IN" ? U"ˈɪn" : U"ɪn";
    if (small == U"the" && (!shouted || tag == U"DT")) return context.vowel.value_or(false) ? U"ði" : U"ðə";
    const Entry *used = small == U"used" ? gold(U"used") : nullptr;
    if (!used) return std::nullopt;
    if (!((tag == U"VBD" || tag == U"JJ") && context.to)) return used->phonemes;
    const Text *habit = used->other(U"VBD");
    return habit ? Phonemes(*habit) : std::nullopt;
}

Phonemes Pronunciation::listed(View word) {
    const Entry *found = gold(word);
    return found ? Phonemes(found->phonemes) : std::nullopt;
}

// Returns true if the word's capitals come from its place, and it is known without them.
bool Pronunciation::is_capitalised(View word, View tag, const Context &context) {
    Text small = lower(word);
    if (word == small || word.size() < 2 || (tag == U"NNP" && word.size() <= 7)) return false;
    View rest = word.substr(1);
    if ((rest != lower(rest) && rest != upper(rest)) || !is_alpha(without(word, U'\''))) return false;
    if (gold(word) || silver(word)) return false;
    return gold(small) || silver(small) || inflected(small, tag, {}, context);
}

Phonemes Pronunciation::look_up(View written, View tag, Stress stress, const Context &context) {
    Text word(written);
    const Entry *found = gold(word);
    bool name = false;
    if (!found && word == upper(word)) {
        word = lower(word), name = tag == U"NNP";
        found = gold(word);
    }
    if (!found && !name) found = silver(word);
    Text phonemes = found ? chosen(*found, tag, context) : Text();
    if (phonemes.empty() || (name && !contains(phonemes, PRIMARY))) {
        if (Phonemes letters = spelled(word)) return letters;
    }
    return phonemes.empty() ? std::nullopt : Phonemes(restressed(phonemes, stress));
}

// Returns the phonemes of a known stem with -s, -ed or -ing.
Phonemes Pronunciation::inflected(View word, View tag, Stress stress, const Context &context) {
    for (const Stem &each : stems()) {
        Match found;
        if (!each.pattern.full_match(word, found)) continue;
        Text stem = Text(found[1]) + each.ending;
        if (!is_known(stem)) continue;
        // The verb of a capitalised -ing form is stressed as well.
        Stress given = each.suffix == U"ing" && !stress ? Stress(0.5) : stress;
        if (Phonemes phonemes = look_up(stem, tag, given, context))
            return with_suffix(*phonemes, each.suffix, stem);
    }
    return std::nullopt;
}

Text Pronunciation::with_suffix(View phonemes, View suffix, View stem) const {
    char32_t last = phonemes.back();
    // Of the British -s and -ed after a sibilant and after t and d.
    Text weak = british_ ? U"ɪ" : U"ᵻ", result(phonemes);
    if (suffix == U"s") {
        return result + (contains(U"ptkfθ", last) ? U"s" : contains(U"szʃʒʧʤ", last) ? weak + U"z" : U"z");
    }
    bool flapped = !british_ && last == 't' && result.size() > 1 &&
                   contains(U"AIOWYiuæɑəɛɪɹʊʌ", result[result.size() - 2]);
    if (suffix == U"ed" && last != 't' && last != 'd')
        return result + (contains(U"pkfθʃsʧ", last) ? U"t" : U"d");
    if (suffix == U"ing" && british_ && (ends_with(stem, U"r") || ends_with(stem, U"re"))) result += U'ɹ';
    if (flapped) result.back() = U'ɾ';
    return result + (suffix == U"ed" ? weak + U"d" : U"ɪŋ");
}

}  // namespace kokoro::text
