#include "compounds.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "../base/pattern.h"
#include "stress.h"
#include "../base/strings.h"
#include "../generated/tables.h"

namespace kokoro::text {

namespace {

constexpr size_t LONGEST = 13;     // parts of the longest compound in the lexicon
constexpr size_t MOST_PARTS = 60;  // parts of the longest word in which compounds are looked for
constexpr View SILENT = U"'-._‘’/";

bool is_silent_text(View text) { return contains(SILENT, text); }

// Returns the number of characters, of which capitals count twice.
size_t prominence(const Part &part) {
    size_t sum = 0;
    for (char32_t letter : part.text) sum += lower(View(&letter, 1)) == View(&letter, 1) ? 1 : 2;
    return sum;
}

// Returns where the longest word that ends at `end` starts, and its phonemes; none if there is none.
std::pair<size_t, Phonemes> longest_word(const std::vector<Part> &parts, size_t end, const Context &context,
                                         Pronunciation &pronunciation) {
    // Of a run that no word is as long as, only single parts can be words.
    size_t most = parts.size() <= MOST_PARTS ? LONGEST : 1;
    for (size_t start = end > most ? end - most : 0; start < end; start++) {
        Text written;
        const Part *prominent = &parts[start];
        bool spoken = false;
        for (size_t place = start; place < end; place++) {
            written += parts[place].text;
            spoken = spoken || (parts[place].spoken && !parts[place].spoken->empty());
            if (prominence(parts[place]) > prominence(*prominent)) prominent = &parts[place];
        }
        if (spoken) continue;
        if (Phonemes phonemes = pronunciation.word(written, prominent->tag, context))
            return {start, phonemes};
    }
    return {end - 1, std::nullopt};
}

enum CharacterKind { NONE, LETTERS, DIGITS, OTHERS };

CharacterKind kind_of(View text) {
    return is_silent_text(text) ? NONE : is_alpha(text) ? LETTERS : is_digit(text) ? DIGITS : OTHERS;
}

// Returns the words whose stress is weaker than in a word of its own.
std::set<size_t> weaker_words(const std::vector<std::pair<const Part *, View>> &words) {
    if (words.size() == 2 && words[0].first->text.size() == 1) return {1};
    std::vector<std::tuple<bool, size_t, size_t>> order;
    size_t stressed = 0;
    for (size_t number = 0; number < words.size(); number++) {
        View phonemes = words[number].second;
        order.emplace_back(contains(phonemes, PRIMARY), weight(phonemes), number);
        stressed += contains(phonemes, PRIMARY);
    }
    if (words.size() < 2 || stressed <= (words.size() + 1) / 2) return {};
    std::sort(order.begin(), order.end());
    std::set<size_t> weaker;
    for (size_t place = 0; place < words.size() / 2; place++) weaker.insert(std::get<2>(order[place]));
    return weaker;
}

}  // namespace

std::vector<Part> parts_of(View text, View tag, const Phonemes &spoken) {
    static const Pattern words(tables::compounds::WORDS), camel_case(tables::compounds::CAMEL_CASE);
    if (spoken || text.size() == 1 || (is_alpha(text) && is_lower(text)))
        return {{Text(text), Text(tag), spoken}};
    std::vector<Part> parts;
    for (View found : (is_alpha(text) ? camel_case : words).find_all(text)) {
        parts.push_back({Text(found), Text(tag), std::nullopt});
    }
    return parts;
}

Context following(View phonemes, View text, const Context &context) {
    static const Pattern beginning(tables::compounds::BEGINNING);
    Match found;
    Context before{context.vowel, text == U"to" || text == U"To" || text == U"TO"};
    if (beginning.search(phonemes, found)) {
        char32_t first = found[0][0];
        before.vowel =
            contains(U";:,.!?—…", first) ? std::nullopt : std::optional<bool>(contains(VOWELS, first));
    }
    return before;
}

std::pair<std::vector<Phonemes>, Context> compound(const std::vector<Part> &parts, Context context,
                                                   Pronunciation &pronunciation, const SpeakPart &other) {
    std::vector<Phonemes> spoken(parts.size(), Text());
    for (size_t end = parts.size(); end;) {
        auto [start, phonemes] = longest_word(parts, end, context, pronunciation);
        if (!phonemes) {
            const Part &last = parts[start];
            bool silent = !last.spoken && is_silent_text(last.text);
            phonemes = silent ? Phonemes(U"") : other(last, context);
        }
        Text text;
        for (size_t place = start; place < end; place++) text += parts[place].text;
        context = following(phonemes.value_or(U""), text, context);
        spoken[start] = std::move(phonemes);
        end = start;
    }
    return {spoken, context};
}

Text joined(const std::vector<Part> &parts, const std::vector<Phonemes> &spoken) {
    std::set<CharacterKind> kinds;
    std::vector<std::pair<const Part *, View>> words;
    bool apart = false;
    for (size_t place = 0; place < parts.size(); place++) {
        const Part &part = parts[place];
        // B2B is spoken as one word, as every word of letters alone.
        if (part.spoken != U"to") kinds.insert(kind_of(part.text));
        apart = apart || (part.spoken && part.spoken != U"to") || part.text == U"/";
        if (spoken[place] && !spoken[place]->empty()) words.emplace_back(&part, *spoken[place]);
    }
    kinds.erase(NONE);
    apart = apart || kinds.size() > 1;
    std::set<size_t> weaker = apart ? std::set<size_t>() : weaker_words(words);
    Text result;
    for (size_t number = 0; number < words.size(); number++) {
        if (apart && number) result += U' ';
        result += weaker.count(number) ? restressed(words[number].second, -0.5) : Text(words[number].second);
    }
    return result;
}

}  // namespace kokoro::text
