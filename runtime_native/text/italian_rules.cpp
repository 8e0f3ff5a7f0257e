#include "italian_rules.h"

#include <algorithm>

#include "../base/errors.h"
#include "../base/utf8.h"
#include "clauses.h"
#include "italian_numbers.h"
#include "../base/pattern.h"
#include "replacements.h"
#include "../generated/tables.h"

namespace kokoro::text::italian {

namespace {

namespace tables = kokoro::tables::italian_rules;

constexpr View ACCENTED = U"àèéìòóù", VOWELS = U"aeiou", OPEN = U"àèìòù", CLOSED = U"àéìóù";

// Returns a text with each letter of one set in place of that of another.
Text translated(View text, View from, View to) {
    Text result(text);
    for (char32_t &letter : result) {
        size_t place = from.find(letter);
        if (place != View::npos) letter = to[place];
    }
    return result;
}

Text plain(View word) { return translated(word, U"àèéìòóùż", U"aeeioouz"); }

// Endings by which the accent of most words can be told, and the accents; the first one holds.
const std::vector<std::pair<Pattern, Text>> &endings() {
    static const std::vector<std::pair<Pattern, Text>> all = [] {
        std::vector<std::pair<Pattern, Text>> found;
        const unsigned char *patterns = tables::ENDINGS_PATTERNS;
        for (Row &row : rows(tables::ENDINGS)) found.emplace_back(Pattern(&patterns), row[0]);
        return found;
    }();
    return all;
}

// Returns the group of a match that took part, or the whole.
int group_of(const Match &found, int groups) {
    for (int group = 1; group <= groups; group++) {
        if (found.has(group)) return group;
    }
    return 0;
}

// Returns the place of a word's accent and the vowel with it: by its ending, or on the last but one.
std::optional<std::pair<size_t, char32_t>> accent_of(View word) {
    static const Pattern nucleus(tables::NUCLEUS), falling(tables::FALLING);
    auto accented = [&](size_t place, View accents) {
        return std::pair(place, translated(word.substr(place, 1), VOWELS, accents)[0]);
    };
    Match found;
    for (const auto &[ending, accents] : endings()) {
        if (ending.search(word, found))
            return accented(found.start(group_of(found, ending.groups())), accents);
    }
    std::vector<size_t> nuclei;
    nucleus.for_each(word, 0, word.size(), [&](const Match &each) { nuclei.push_back(each.start()); });
    if (nuclei.size() == 1 && falling.search(word)) return accented(word.size() - 2, OPEN);
    if (nuclei.empty()) return std::nullopt;
    bool second_last = nuclei.size() > 1 && contains(VOWELS, word.back());
    size_t place = nuclei[nuclei.size() - 1 - second_last];
    View before = word.substr(0, place + 1);
    return accented(place, ends_with(before, U"ie") || ends_with(before, U"uo") ? OPEN : CLOSED);
}

Text by_rule(View word) {
    static const Pattern voiced_z(tables::VOICED_Z);
    Text voiced = voiced_z.replace(word, [](const Match &found) { return Text(found[0].size(), U'ż'); });
    auto place = accent_of(word);
    if (place && word.find_first_of(ACCENTED) == View::npos) voiced[place->first] = place->second;
    return voiced;
}

// Returns a word in lower-case letters with its accent, and ż where z is voiced.
Text accented(View word, const Accents &exceptions) {
    auto found = exceptions.find(Text(word));
    if (found != exceptions.end()) return found->second;
    size_t rest = word.rfind(U'\'') + 1;
    return rest ? Text(word.substr(0, rest)) + accented(word.substr(rest), exceptions) : by_rule(word);
}

// Returns the phonemes of a word with its accent; `mark` is that of its stress: ``ˈ``, ``ˌ``, or nothing.
Text sounds_of(View word, View mark) {
    static const Replacements sounds(tables::SOUNDS_PATTERNS, tables::SOUNDS);
    Text spoken = sounds.apply(mark.empty() ? plain(word) : Text(word)), stressed;
    for (char32_t letter : spoken) {
        size_t place = ACCENTED.find(letter);
        if (place == View::npos) {
            stressed += letter;
        } else {
            stressed += mark;
            stressed += (mark == U"ˈ" ? U"aɛeiɔou" : U"aɛeiɔoʊ")[place];
        }
    }
    return replaced(stressed, U"aY", U"I");
}

// Returns the mark of a word's stress within a clause.
View mark_of(View word) {
    static const Words unstressed(tables::UNSTRESSED), weakly_stressed(tables::WEAKLY_STRESSED);
    return unstressed.has(word) ? U"" : weakly_stressed.has(word) ? U"ˌ" : U"ˈ";
}

Text spoken_word(View word, View mark, const Accents &exceptions) {
    static const Table irregular(tables::IRREGULAR);
    static const Words lengthened(tables::LENGTHENED);
    const Text *known = irregular.find(word);
    Text phonemes = known ? *known : sounds_of(accented(word, exceptions), mark);
    if (!lengthened.has(word)) return phonemes;
    Text result;
    for (size_t place = 0; place < phonemes.size(); place++) {
        result += phonemes[place];
        if (phonemes[place] != U'ˈ' || place + 1 == phonemes.size()) continue;
        result += phonemes[++place];
        result += U'ː';
    }
    return result;
}

}  // namespace

Accents read_accents(std::string_view data) {
    if (find_invalid_utf8(data) != std::string_view::npos) {
        throw Error(KOKORO_TEXT_DATA_ERROR,
                    "The bundle's data for text are damaged: the accents are not UTF-8. Copy or export the "
                    "bundle again.");
    }
    Accents accents;
    Text text = decode_utf8(data);
    for (View line : split(text)) {
        size_t end = std::min(line.find(U'='), line.size());
        View word = line.substr(0, end), respelled = tail(line, end + 1);
        accents[plain(word)] = respelled.empty() ? word : respelled;
    }
    return accents;
}

std::vector<Word> words(View text, const Accents &accents) {
    auto speak = [&](const Clause &clause) {
        std::vector<std::vector<Text>> written;
        std::vector<Text> spoken;
        for (const ClauseToken &token : clause) {
            written.push_back(in_letters(token.word));
            spoken.insert(spoken.end(), written.back().begin(), written.back().end());
        }
        std::unordered_map<Text, Text> known;
        for (Text &word : spoken) {
            // The last word of a clause is stressed, whatever it is.
            if (&word == &spoken.back()) {
                word = spoken_word(word, U"ˈ", accents);
            } else {
                auto [found, is_new] = known.try_emplace(word);
                if (is_new) found->second = spoken_word(word, mark_of(word), accents);
                word = found->second;
            }
        }
        return words_of(clause, written, spoken);
    };
    return read_clauses(text, speak, abbreviations());
}

}  // namespace kokoro::text::italian
