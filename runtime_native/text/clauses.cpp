#include "clauses.h"

#include "controls.h"
#include "../base/pattern.h"
#include "../generated/tables.h"

namespace kokoro::text {

namespace {

constexpr size_t MOST_DIGITS = 12;

void add_plain_tokens(Clause &tokens, View text) {
    static const Pattern pattern(tables::clauses::TOKEN);
    pattern.for_each(text, 0, text.size(), [&](const Match &found) {
        tokens.push_back({Text(found["mark"]), Text(found["word"]), Text(found["space"])});
    });
}

// Returns the marks and words of a text; a part with given phonemes is one word.
Clause tokens_of(View text) {
    auto [plain, controls] = read_controls(text);
    View view = plain;
    Clause tokens;
    size_t start = 0;
    for (const Control &control : controls) {
        if (!control.phonemes) continue;
        add_plain_tokens(tokens, view.substr(start, control.start - start));
        start = plain.size() - strip_start(view.substr(control.end)).size();
        tokens.push_back({{},
                          Text(view.substr(control.start, control.end - control.start)),
                          Text(view.substr(control.end, start - control.end)),
                          control.phonemes});
    }
    add_plain_tokens(tokens, tail(view, start));
    return tokens;
}

Clause with_abbreviations(const Clause &tokens, const Table &abbreviations) {
    Clause joined;
    for (size_t place = 0; place < tokens.size(); place++) {
        const ClauseToken &token = tokens[place];
        Text word = !joined.empty() && joined.back().space.empty() ? joined.back().word : Text();
        bool inside = token.mark == U"." && abbreviations.has(lower(word));
        if (inside && place + 1 < tokens.size() && tokens[place + 1].mark.empty()) {
            joined.back() = {{}, word + U".", token.space};
        } else {
            joined.push_back(token);
        }
    }
    return joined;
}

Word mark_word(const ClauseToken &token) {
    static const Table marks(tables::clauses::MARKS);
    Text phonemes = starts_with(token.mark, U"..") ? Text(U"…") : Text(marks.get(token.mark.substr(0, 1)));
    return {token.mark, phonemes, token.space};
}

}  // namespace

std::vector<Word> read_clauses(View text, const SpeakClause &speak, const Table &abbreviations) {
    Clause tokens = with_abbreviations(tokens_of(text), abbreviations);
    std::vector<Word> words;
    for (size_t start = 0, end; start < tokens.size(); start = end) {
        const ClauseToken &first = tokens[start];
        for (end = start; end < tokens.size(); end++) {
            if (tokens[end].mark.empty() != first.mark.empty() || tokens[end].phonemes != first.phonemes)
                break;
        }
        Clause run(tokens.begin() + static_cast<long>(start), tokens.begin() + static_cast<long>(end));
        if (first.mark.empty() && !first.phonemes) {
            for (Word &word : speak(run)) {
                if (word.phonemes && word.phonemes->empty()) word.phonemes.reset();
                words.push_back(std::move(word));
            }
            continue;
        }
        for (const ClauseToken &token : run) {
            words.push_back(token.mark.empty() ? Word{token.word, first.phonemes, token.space}
                                               : mark_word(token));
        }
    }
    return words;
}

std::vector<Word> words_of(const Clause &clause, const std::vector<std::vector<Text>> &written,
                           const std::vector<Text> &spoken) {
    std::vector<Word> words;
    size_t place = 0;
    for (size_t number = 0; number < clause.size(); number++) {
        Text phonemes;
        for (size_t count = 0; count < written[number].size() && place < spoken.size(); count++) {
            if (count) phonemes += U' ';
            phonemes += spoken[place++];
        }
        words.push_back({clause[number].word, phonemes, clause[number].space});
    }
    return words;
}

Text number_in_words(View written, const std::function<Text(long long)> &cardinal, View comma) {
    auto one_by_one = [&](View digits) {
        std::vector<Text> words;
        for (char32_t digit : digits) words.push_back(cardinal(digit_value(digit)));
        return join(words, U" ");
    };
    Text plain = without(written, U'.');
    size_t end = std::min(plain.find(U','), plain.size());
    View whole = View(plain).substr(0, end), decimals = tail(plain, end + 1);
    bool apart = whole.size() > MOST_DIGITS || (whole.size() > 1 && whole[0] == '0');
    Text words = apart ? one_by_one(whole) : cardinal(value_of(whole));
    if (decimals.empty()) return words;
    View rest = strip_start(decimals, U"0");
    words += U" " + Text(comma);
    for (size_t zeros = decimals.size() - rest.size(); zeros--;) words += U" " + cardinal(0);
    if (rest.empty()) return words;
    return words + U" " + (rest.size() <= 3 ? cardinal(value_of(rest)) : one_by_one(rest));
}

}  // namespace kokoro::text
