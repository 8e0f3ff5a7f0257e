#include "english.h"

#include <algorithm>

#include "../speech/sentences.h"
#include "../base/pattern.h"
#include "stress.h"
#include "../base/strings.h"
#include "../generated/tables.h"
#include "written_forms/numbers.h"
#include "written_forms/written_forms.h"

namespace kokoro::text {

namespace {

namespace patterns = tables::english;

constexpr size_t MOST_KEPT = 4096, LONGEST_KEPT = 64;

// Returns the tokens of the parts whose phonemes are given, and of the written forms that lie in none of
// them.
std::vector<Token> known_tokens(View text, bool british, const std::vector<Control> &controls,
                                const std::vector<const Control *> &at) {
    std::vector<Token> known;
    std::vector<bool> taken(text.size());
    for (const Control &control : controls) {
        if (!control.phonemes) continue;
        known.push_back({Text(text.substr(control.start, control.end - control.start)),
                         control.start,
                         control.end,
                         {},
                         control.phonemes});
        std::fill(taken.begin() + static_cast<long>(control.start),
                  taken.begin() + static_cast<long>(control.end), true);
    }
    for (const WrittenForm &form : find_written_forms(text, british)) {
        View written = text.substr(form.start, form.end - form.start);
        // The 2 of B2B is a word to `tokenise`.
        Text around(text.substr(form.start ? form.start - 1 : 0, form.start ? 1 : 0));
        around += text.substr(form.end, 1);
        if (written == U"2" && is_alpha(around)) continue;
        auto first = taken.begin() + static_cast<long>(form.start),
             end = taken.begin() + static_cast<long>(form.end);
        if (std::find(first, end, true) != end) continue;
        View flags = at[form.start] ? View(at[form.start]->flags) : View();
        known.push_back(
            {Text(written), form.start, form.end, {}, {}, numbers::with_flags(form.spoken, flags)});
    }
    std::stable_sort(known.begin(), known.end(),
                     [](const Token &one, const Token &other) { return one.start < other.start; });
    return known;
}

// Returns the ASCII letters that the letters of a text come from, with its other ASCII characters.
Text without_accents(View text) {
    Text letters;
    for (char32_t letter : text) letters += base_of(letter);
    return letters;
}

// Returns the tokens of each sentence.
std::vector<std::vector<Token>> sentences_of(View text, const std::vector<Token> &tokens) {
    std::vector<std::vector<Token>> sentences;
    auto first = tokens.begin();
    for (auto [start, end] : find_sentences(text)) {
        auto last = std::lower_bound(first, tokens.end(), end,
                                     [](const Token &token, size_t place) { return token.start < place; });
        if (last > first) sentences.emplace_back(first, last);
        first = last;
    }
    return sentences;
}

// Returns the tokens of each word: marks stand alone, others extend to white space.
std::vector<std::pair<size_t, size_t>> groups_of(const std::vector<Token> &tokens) {
    std::vector<std::pair<size_t, size_t>> groups;
    size_t first = 0;
    for (size_t next = 1; next <= tokens.size(); next++) {
        if (next == tokens.size() || tokens[next].start > tokens[next - 1].end || tokens[next - 1].phonemes ||
            tokens[next].phonemes) {
            groups.emplace_back(first, next);
            first = next;
        }
    }
    return groups;
}

// Returns phonemes as Kokoro has them.
Text as_output(Text phonemes) {
    for (char32_t &phoneme : phonemes) phoneme = phoneme == U'ɾ' ? U'T' : phoneme == U'ʔ' ? U't' : phoneme;
    return phonemes;
}

}  // namespace

std::vector<Word> English::words(View text) {
    static const Table plain_letters(patterns::PLAIN);
    static const Pattern long_run(patterns::LONG_RUN);
    auto [shown, controls] = read_controls(text);
    Text plain = plain_letters.translate(shown);
    Places places{std::vector<const Control *>(plain.size()), std::vector<bool>(plain.size())};
    for (const Control &control : controls) {
        for (size_t place = control.start; place < control.end; place++) places.controls[place] = &control;
    }
    long_run.for_each(plain, 0, plain.size(), [&, &run = places.in_run](const Match &found) {
        std::fill(run.begin() + static_cast<long>(found.start()),
                  run.begin() + static_cast<long>(found.end()), true);
    });
    Tokens tokens = tokenise(plain, known_tokens(plain, british_, controls, places.controls));
    std::vector<Tokens> sentences = sentences_of(shown, tokens);
    std::vector<Word> words;
    size_t end = shown.size();
    for (size_t number = sentences.size(); number--;)
        add_sentence(sentences[number], places, shown, end, words);
    if (end) words.push_back({U"", U"", shown.substr(0, end)});
    std::reverse(words.begin(), words.end());
    return words;
}

// Adds the words of a sentence, from the last to the first; `end` is where the white space after the last
// ends.
void English::add_sentence(const Tokens &sentence, const Places &places, View shown, size_t &end,
                           std::vector<Word> &words) {
    Tokens tokens = tagged(sentence);
    std::vector<Group> groups = groups_of(tokens);
    Context context;
    for (size_t number = groups.size(); number--;) {
        const Token &first = tokens[groups[number].first], &last = tokens[groups[number].second - 1];
        auto [spoken, before] = phonemes(tokens, groups[number], context, places);
        context = before;
        if (spoken) {
            const Control *control = places.controls[first.start];
            spoken = as_output(restressed(*spoken, control ? control->stress : std::nullopt));
            // The full stop of an abbreviation is that of its sentence too.
            if (&last == &tokens.back() && ends_with(last.text, U".") && !last.phonemes) *spoken += U'.';
        }
        words.push_back({Text(shown.substr(first.start, last.end - first.start)), spoken,
                         Text(shown.substr(last.end, end - last.end))});
        end = first.start;
    }
}

// Returns the tokens with their tags; that of a homograph is the key of its pronunciation.
English::Tokens English::tagged(const Tokens &sentence) {
    std::vector<View> words;
    for (const Token &token : sentence) words.push_back(token.text);
    std::vector<Text> tags = data_.tagger->tag(words);
    Tokens tokens = sentence;
    for (size_t place = 0; place < tokens.size(); place++) {
        Token &token = tokens[place];
        Phonemes key;
        if ((!token.phonemes || token.phonemes->empty()) && (!token.spoken || token.spoken->empty())) {
            key = data_.homographs->choose(words, tags, place);
        }
        if (key && !is_ascii(*key)) {
            token.tag = tags[place], token.phonemes = key;
        } else if (token.tag.empty()) {
            token.tag = key && !key->empty() ? *key : tags[place];
        }
    }
    return tokens;
}

// Returns the phonemes of a word of one or more tokens, and the context before it.
std::pair<Phonemes, Context> English::phonemes(const Tokens &tokens, Group group, const Context &context,
                                               const Places &places) {
    const Token &token = tokens[group.first];
    size_t count = group.second - group.first;
    if (token.phonemes) {
        return {token.tag == UNKNOWN ? std::nullopt : token.phonemes,
                following(*token.phonemes, U"", context)};
    }
    if (count == 1 && !token.spoken) {
        if (Phonemes known = pronunciation_.word(token.text, token.tag, context)) {
            return {known, following(*known, token.text, context)};
        }
    }
    View last = tokens[group.second - 1].text;
    if (count > 1 && (last == U"'s" || last == U"'S")) {
        Text written;
        for (size_t place = group.first; place < group.second; place++) written += tokens[place].text;
        if (token.spoken || !pronunciation_.word(written, token.tag, context)) {
            auto [stem, before] = phonemes(tokens, {group.first, group.second - 1}, context, places);
            if (stem && !stem->empty()) return {pronunciation_.possessive(*stem), before};
        }
    }
    std::vector<Part> parts;
    for (size_t place = group.first; place < group.second; place++) {
        const Token &each = tokens[place];
        std::vector<Part> own = parts_of(each.text, each.tag, each.spoken);
        parts.insert(parts.end(), own.begin(), own.end());
    }
    bool in_run = places.in_run[token.start];
    auto [spoken, before] =
        compound(parts, context, pronunciation_,
                 [&](const Part &part, const Context &after) { return other(part, after, in_run); });
    Text whole = joined(parts, spoken);
    bool unknown = std::find(spoken.begin(), spoken.end(), std::nullopt) != spoken.end();
    return {unknown && whole.empty() ? std::nullopt : Phonemes(whole), before};
}

// Returns the phonemes of a part that is no word of the lexicon; none if it cannot be spoken.
Phonemes English::other(const Part &part, const Context &context, bool in_run) {
    static const Pattern irish(patterns::IRISH);
    if (part.spoken) return said(*part.spoken, context);
    Text letters = without_accents(part.text);
    if (!is_alpha(without(letters, U'\''))) return std::nullopt;
    Match found;
    if (irish.match(letters, 0, letters.size(), found)) {
        Phonemes name = other({letters.substr(2), part.tag, {}}, context, in_run);
        Text beginning = restressed(pronunciation_.spelled(U"O").value_or(U""), -0.5);
        return beginning + name.value_or(U"");
    }
    Text written = nfc(part.text);
    if (Phonemes known = pronunciation_.word(written, part.tag, context)) return known;
    return unlisted(letters, written, pronunciation_.word(letters, part.tag, context), in_run);
}

// Returns the phonemes of letters whose accents are gone, unless they are those of a known word.
Phonemes English::unlisted(const Text &letters, View written, const Phonemes &known, bool in_run) {
    static const Pattern acute(patterns::ACUTE), ay(patterns::AY), consonants(patterns::CONSONANTS);
    Match found;
    if (acute.search(written, found) && !ay.search(known.value_or(U""))) {
        // A résumé does not resume.
        Text stem = letters.substr(0, found.start());
        if (ends_with(stem, U"c")) {
            stem.back() = U's';
        } else if (ends_with(stem, U"ch")) {
            stem[stem.size() - 2] = U's';
        }
        Phonemes phonemes = spelled_out(stem + U"ay", in_run);
        bool several = !found[1].empty() && phonemes && !phonemes->empty();
        return several ? pronunciation_.possessive(*phonemes) : phonemes;
    }
    if (!known && consonants.full_match(letters)) return pronunciation_.spelled(letters);
    if (known && !known->empty()) return known;
    static const Table respelled(patterns::RESPELLED);
    Text spelling;
    for (char32_t letter : written) spelling += respelled.get(View(&letter, 1), View(&letter, 1));
    return spelled_out(without_accents(spelling), in_run);
}

Phonemes English::spelled_out(View letters, bool in_run) {
    if (in_run) return pronunciation_.spelled(letters);
    return data_.letter_to_sound->phonemes(letters, british_);
}

// Returns the phonemes of the words of a written form; those of signs and numbers come again and again.
Text English::said(View words, const Context &context) {
    if (words.size() > LONGEST_KEPT) return phonemes_of(words, context);
    Text key(words);
    key += context.vowel ? *context.vowel ? U'+' : U'-' : U'0';
    key += context.to ? U't' : U'f';
    auto found = said_.find(key);
    if (found != said_.end()) return found->second;
    if (said_.size() == MOST_KEPT) said_.clear();
    return said_.emplace(key, phonemes_of(words, context)).first->second;
}

Text English::phonemes_of(View words, Context context) {
    static const Pattern letters_or_word(patterns::LETTERS_OR_WORD);
    std::vector<View> found = letters_or_word.find_all(words);
    std::vector<Text> spoken(found.size());
    for (size_t number = found.size(); number--;) {
        View word = found[number];
        Text &phonemes = spoken[number];
        if (word == U"ə" || word == U"ən") {  // phonemes already, of misaki's flags
            phonemes = word;
        } else if (is_upper(word)) {
            phonemes = pronunciation_.spelled(word).value_or(U"");
        } else {
            phonemes = pronunciation_.word(word, word == U"a" ? U"DT" : U"", context).value_or(U"");
            if (phonemes.empty()) phonemes = data_.letter_to_sound->phonemes(word, british_);
        }
        // Words of a written form that have less stress than in a sentence.
        if (word == U"point") phonemes = restressed(phonemes, -2);
        if (word == U"dot") phonemes = restressed(phonemes, -0.5);
        context = following(phonemes, word, context);
    }
    return replaced(join(spoken, U" "), U" ən", U"ən");
}

}  // namespace kokoro::text
