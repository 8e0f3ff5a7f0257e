#include "clauses.h"

#include "controls.h"
#include "../base/pattern.h"
#include "../generated/tables.h"

namespace kokoro::text {

namespace {

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

Clause with_abbreviations(const Clause &tokens, const Texts &abbreviations) {
    Clause joined;
    for (size_t place = 0; place < tokens.size(); place++) {
        const ClauseToken &token = tokens[place];
        Text word = !joined.empty() && joined.back().space.empty() ? joined.back().word : Text();
        bool inside = token.mark == U"." && abbreviations.count(lower(word));
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

std::vector<Word> read_clauses(View text, const SpeakClause &speak, const Texts &abbreviations) {
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

}  // namespace kokoro::text
