#include "spanish_rules.h"

#include <unordered_map>

#include "clauses.h"
#include "../base/pattern.h"
#include "replacements.h"
#include "spanish_numbers.h"
#include "../generated/tables.h"

namespace kokoro::text::spanish {

namespace {

namespace tables = kokoro::tables::spanish_rules;

constexpr View ACUTE = U"áéíóú", PLAIN = U"aeiou";

// What is found of a vowel and the glides around it.
struct Nucleus {
    size_t start, end, glide_end;  // the last is 0 without a glide
    char32_t vowel;
    Text glide, off;
};

Text plain(View vowels) {
    Text result(vowels);
    for (char32_t &vowel : result) {
        size_t place = ACUTE.find(vowel);
        if (place != View::npos) vowel = PLAIN[place];
    }
    return result;
}

std::vector<Nucleus> nuclei_of(View sounds) {
    static const Pattern pattern(tables::NUCLEUS);
    std::vector<Nucleus> nuclei;
    pattern.for_each(sounds, 0, sounds.size(), [&](const Match &found) {
        nuclei.push_back({found.start(), found.end(), found.has("glide") ? found.end("glide") : 0,
                          found["vowel"][0], Text(found["glide"]), replaced(found["off"], U"Y", U"i")});
    });
    return nuclei;
}

bool is_syllabic(View sounds, const Nucleus &nucleus) {
    static const Pattern pattern(tables::SYLLABIC);
    size_t end = nucleus.glide_end, start = end > 3 ? end - 3 : 0;
    // A space stands for the beginning of the word.
    return end > 0 && pattern.search((end < 3 ? U" " : U"") + Text(sounds.substr(start, end - start)));
}

// Returns the index of the vowel with an accent, or else of the one that the word's end decides.
size_t stressed_of(View sounds, const std::vector<Nucleus> &nuclei) {
    static const Pattern open_end(tables::OPEN_END);
    for (size_t index = 0; index < nuclei.size(); index++) {
        if (contains(ACUTE, nuclei[index].vowel)) return index;
    }
    size_t last = nuclei.size() - 1;
    return open_end.search(sounds) && last ? last - 1 : last;
}

// Returns a vowel with the glides around it, and the mark of its stress.
Text syllable(View sounds, const Nucleus &nucleus, View mark) {
    static const Pattern closed_by_n(tables::CLOSED_BY_N);
    static const Table diphthongs(tables::DIPHTHONGS);
    Text glide = nucleus.glide;
    if (!is_syllabic(sounds, nucleus)) {
        for (char32_t &letter : glide) letter = letter == 'i' ? U'j' : U'w';
    }
    Match found;
    Text vowel(1, nucleus.vowel);
    bool open = vowel == U"e" && mark == U"ˈ" && nucleus.off.empty() &&
                closed_by_n.match(sounds, nucleus.end, sounds.size(), found);
    if (open) vowel = U"ɛ";
    const Text *diphthong = diphthongs.find(vowel + nucleus.off);
    return glide + Text(mark) + (diphthong ? *diphthong : plain(vowel) + nucleus.off);
}

// Returns the sounds of a word with these marks before the vowels of stressed syllables.
Text syllables(View word, View primary, View secondary) {
    static const Replacements letters(tables::SOUNDS_PATTERNS, tables::SOUNDS);
    if (word.size() > 6 && ends_with(word, U"mente")) {
        return syllables(word.substr(0, word.size() - 5), primary, secondary) + U"mˈente";
    }
    Text sounds = letters.apply(word), result;
    std::vector<Nucleus> nuclei = nuclei_of(sounds);
    if (nuclei.empty()) return sounds;
    long stressed = static_cast<long>(stressed_of(sounds, nuclei));
    // Every second syllable from the first on has secondary stress, but not the last one before the primary.
    long last_secondary = stressed + is_syllabic(sounds, nuclei[stressed]) - 2;
    size_t end = 0;
    for (long index = 0; index < static_cast<long>(nuclei.size()); index++) {
        const Nucleus &nucleus = nuclei[index];
        bool marked = index == stressed || (index <= last_secondary && index % 2 == 0);
        View mark = !marked ? View() : index == stressed ? primary : secondary;
        result += sounds.substr(end, nucleus.start - end) + syllable(sounds, nucleus, mark);
        end = nucleus.end;
    }
    result += sounds.substr(end);
    return replaced(without(result, U'h'), U"U", U"u");
}

Text stressed_word(View word) { return word == U"y" ? Text(U"i") : syllables(word, U"ˈ", U"ˌ"); }

// Returns a word's syllables; within a clause some words have no stress.
Text word_in_clause(View word) {
    static const Words unstressed(tables::UNSTRESSED), weakly_stressed(tables::WEAKLY_STRESSED);
    if (unstressed.has(word)) return syllables(word, U"", U"");
    return weakly_stressed.has(word) ? syllables(word, U"ˌ", U"") : stressed_word(word);
}

std::vector<Word> clause_words(const Clause &clause) {
    static const Replacements allophones(tables::ALLOPHONES_PATTERNS, tables::ALLOPHONES);
    std::vector<std::vector<Text>> written;
    std::vector<Text> sounds;
    for (const ClauseToken &token : clause) {
        written.push_back(in_letters(token.word));
        sounds.insert(sounds.end(), written.back().begin(), written.back().end());
    }
    std::unordered_map<Text, Text> known;
    for (Text &word : sounds) {
        // The last word of a clause is stressed, whatever it is.
        if (&word == &sounds.back()) {
            word = stressed_word(word);
        } else {
            auto [found, is_new] = known.try_emplace(word);
            if (is_new) found->second = word_in_clause(word);
            word = found->second;
        }
    }
    Text whole = allophones.apply(join(sounds, U" "));
    std::vector<View> spoken = split(View(whole), U' ');
    return words_of(clause, written, {spoken.begin(), spoken.end()});
}

}  // namespace

std::vector<Word> words(View text) { return read_clauses(text, clause_words, abbreviations()); }

}  // namespace kokoro::text::spanish
