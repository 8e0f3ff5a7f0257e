#include "split.h"

#include <algorithm>

#include "../base/characters.h"
#include "../base/unicode.h"

namespace kokoro {

namespace {

// Where FIRST_CLAUSE is too short, a stream's first piece is as many words as fit into this.
constexpr size_t FIRST_WORDS = 20;
// Below this a piece would be over before the next is computed.
constexpr size_t SHORTEST_CLAUSE = 10;
// Phonemes of the first words that are decoded alone, and of those that follow: half a second of speech.
constexpr size_t FEWEST_FIRST = 6;
constexpr size_t NONE = View::npos;

constexpr View VOWELS = U"AIOQWYaeiouyæɐɑɒɔəɛɜɚɪɨɯɵøœɤʊʌᵊᵻː→↗↓↘\u0303";
constexpr View STRESS = U"ˈˌ";

constexpr View MARKS = U".!?…‥";
constexpr View FULL = U"。！？｡।॥";
constexpr View COMMAS = U",;:";
constexpr View WIDE = U"、，；：､—–…‥";
constexpr View QUOTES = U"\"'";
constexpr View CLOSE = U"”’)]}」』）】》〉｣";
constexpr View GUILLEMETS = U"»›";

bool closes(char32_t character) { return is_one_of(character, CLOSE) || is_one_of(character, GUILLEMETS); }

size_t skip_spaces(View text, size_t at) {
    while (at < text.size() && is_space(text[at])) at++;
    return at;
}

size_t skip(View text, size_t at, View set) {
    while (at < text.size() && is_one_of(text[at], set)) at++;
    return at;
}

// Closing signs after marks: where they end, and where the last one that has a space of its own would begin.
struct Closing {
    size_t end;
    size_t before_spaced = NONE;
};

Closing skip_closing(View text, size_t at) {
    Closing closing{at};
    while (closing.end < text.size()) {
        char32_t character = text[closing.end];
        bool spaced = is_space(character) && closing.end + 1 < text.size() &&
                      is_one_of(text[closing.end + 1], GUILLEMETS);
        if (spaced) closing.before_spaced = closing.end;
        else if (!closes(character) && !is_one_of(character, QUOTES)) break;
        closing.end += spaced ? 2 : 1;
    }
    return closing;
}

// Returns where a match ends that begins with a run of `set` and ends with white space or the input.
size_t spaced_end(View text, size_t at, View set) {
    if (at > 0 && is_one_of(text[at - 1], set)) return NONE;
    Closing closing = skip_closing(text, skip(text, at, set));
    if (closing.end == text.size() || is_space(text[closing.end])) return skip_spaces(text, closing.end);
    // A closing sign that begins the next word gives its space back.
    return closing.before_spaced == NONE ? NONE : closing.before_spaced + 1;
}

size_t wide_end(View text, size_t at, View set) {
    return skip_spaces(text, skip_closing(text, skip(text, at, set)).end);
}

// Each of these returns where a match that begins at `at` ends, or NONE.
size_t word_end(View text, size_t at) {
    if (!is_space(text[at]) || (at > 0 && is_space(text[at - 1]))) return NONE;
    size_t end = skip_spaces(text, at);
    if (end == text.size()) return end;
    char32_t next = text[end];
    for (View set : {MARKS, FULL, COMMAS, WIDE})
        if (is_one_of(next, set)) return NONE;
    return closes(next) ? NONE : end;
}

size_t clause_end(View text, size_t at) {
    if (is_one_of(text[at], COMMAS)) return spaced_end(text, at, COMMAS);
    if (is_one_of(text[at], WIDE)) return wide_end(text, at, WIDE);
    if (!closes(text[at]) || (at > 0 && closes(text[at - 1]))) return NONE;
    while (at < text.size() && closes(text[at])) at++;
    return at < text.size() && is_space(text[at]) ? skip_spaces(text, at) : NONE;
}

size_t sentence_end(View text, size_t at) {
    if (is_one_of(text[at], MARKS)) return spaced_end(text, at, MARKS);
    return is_one_of(text[at], FULL) ? wide_end(text, at, FULL) : NONE;
}

// Calls `found` with the start and end of every match, from left to right.
template <typename End, typename Found>
void find_all(View text, End end_of, Found found) {
    for (size_t at = 0; at < text.size();) {
        size_t end = end_of(text, at);
        if (end != NONE) found(at, end);
        at = end == NONE ? at + 1 : end;
    }
}

std::optional<size_t> first_end(const Breaks &breaks, size_t size) {
    for (size_t end = SHORTEST_CLAUSE; end <= std::min({size, FIRST_CLAUSE, breaks.size() - 1}); end++)
        if (breaks[end] > Break::WORD) return end;
    for (size_t end = std::min({size, FIRST_WORDS, breaks.size() - 1}); end > 0; end--)
        if (breaks[end] != Break::NONE) return end;
    return {};
}

std::optional<size_t> next_break(const Breaks &breaks, size_t start, size_t longest) {
    for (size_t end = start + 1; end <= std::min(start + longest, breaks.size() - 1); end++)
        if (breaks[end] != Break::NONE) return end;
    return {};
}

bool is_vowel(char32_t character) { return is_one_of(character, VOWELS); }

// Returns whether a syllable begins at `at`: between a vowel and a stress mark or a consonant before a vowel.
bool begins_syllable(View run, size_t at) {
    if (at == 0 || at >= run.size() || !is_vowel(run[at - 1])) return false;
    if (is_one_of(run[at], STRESS)) return true;
    if (is_vowel(run[at]) || is_space(run[at])) return false;
    size_t vowel = at + 1;
    if (vowel < run.size() && run[vowel] == U'j') vowel++;
    return vowel < run.size() && is_vowel(run[vowel]);
}

size_t syllable_end(View phonemes, size_t start, size_t size) {
    View run = phonemes.substr(start, size + 3);
    for (size_t end = size; end >= std::max<size_t>(size / 2, 1); end--)
        if (begins_syllable(run, end)) return start + end;
    return start + size;
}

}  // namespace

Breaks find_breaks(View phonemes, const std::optional<std::vector<size_t>> &sentences) {
    Breaks breaks(phonemes.size() + 1, Break::NONE);
    breaks.back() = Break::WORD;
    find_all(phonemes, word_end, [&](size_t, size_t end) { breaks[end] = Break::WORD; });
    find_all(phonemes, clause_end, [&](size_t, size_t end) { breaks[end] = Break::CLAUSE; });
    find_all(phonemes, sentence_end, [&](size_t start, size_t end) {
        bool within = sentences && end < phonemes.size();
        bool stop = strip(phonemes.substr(start, end - start)) == U".";
        breaks[end] = !within ? Break::SENTENCE : stop ? Break::WORD : Break::CLAUSE;
    });
    if (sentences) for (size_t start : *sentences) breaks[start] = Break::SENTENCE;
    return breaks;
}

std::vector<size_t> split(View phonemes, const Breaks &breaks, size_t limit, size_t size, size_t before) {
    std::vector<size_t> ends;
    bool growing = 2 * before < size;
    size_t wanted = before ? grown(before, size) : std::min(size, FIRST_WORDS);
    for (size_t start = 0; start < phonemes.size(); start = ends.back()) {
        std::optional<size_t> end;
        if (!before && ends.empty()) end = first_end(breaks, size);
        else if (phonemes.size() - start <= wanted) end = phonemes.size();
        else end = best_end(breaks, start, wanted);
        size_t longest = growing ? std::min(limit, std::max(wanted, FIRST_CLAUSE)) : limit;
        if (!end) end = next_break(breaks, start, longest);
        if (!end) end = longest < limit ? syllable_end(phonemes, start, wanted) : start + limit;
        ends.push_back(*end);
        if (growing) wanted = grown(*end - start, size);
    }
    return ends;
}

std::optional<size_t> first_words(const Breaks &breaks, size_t end) {
    for (size_t at = FEWEST_FIRST; at + FEWEST_FIRST <= end; at++)
        if (breaks[at] != Break::NONE) return at;
    return {};
}

size_t grown(size_t before, size_t size) { return std::min(size, std::max(2 * before, FIRST_CLAUSE)); }

std::optional<size_t> best_end(const Breaks &breaks, size_t start, size_t size) {
    std::optional<size_t> best;
    for (size_t end = start + 1; end <= std::min(start + size, breaks.size() - 1); end++)
        if (breaks[end] != Break::NONE && (!best || breaks[end] >= breaks[*best])) best = end;
    return best;
}

}  // namespace kokoro
