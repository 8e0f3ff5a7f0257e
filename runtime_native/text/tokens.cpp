#include "tokens.h"

#include "../base/pattern.h"
#include "../base/strings.h"
#include "../generated/tables.h"
#include "written_forms/numbers.h"

namespace kokoro::text {

namespace {

constexpr View OPENS_AFTER = U" \t\n([{—–-“‘\"'/";

// Returns the token of a mark or of another character.
Token mark_token(View text, size_t start) {
    static const Table marks(tables::tokens::MARKS), punctuation(tables::tokens::PUNCTUATION);
    View mark = text.substr(start, 1), before = text.substr(start ? start - 1 : 0, start ? 1 : 0);
    View after = tail(text, start + 1).substr(0, 1);
    auto blank = [](View letter) { return letter.empty() || is_space(letter[0]); };
    Text tag(marks.get(mark));
    if (mark == U"\"" || mark == U"'") {
        tag = contains(OPENS_AFTER, before) && !blank(after) ? U"``" : U"''";
    } else if (mark == U"-") {
        tag = blank(before) && blank(after) ? U":" : U"HYPH";
    } else if (mark == U"." && !before.empty() && is_alnum(before[0]) && !after.empty() &&
               is_alnum(after[0]) && !is_upper(after)) {
        tag = U"HYPH";
    }
    Token token{Text(mark), start, start + 1, tag};
    if (tag == U"HYPH" || !symbol_word(mark).empty() || mark == U"/") return token;
    if (!tag.empty()) {
        token.phonemes = mark == U"-" || mark == U"–" ? U"—" : punctuation.get(tag, mark);
        return token;
    }
    Text name = is_sign(mark[0]) ? sign_name(mark[0]) : Text();
    if (!name.empty()) {
        token.tag = U"SYM", token.spoken = name;
        return token;
    }
    // Marks on a letter, variants of an emoji and invisible characters change nothing.
    token.tag = is_silent(mark[0]) ? View(U"NFP") : UNKNOWN;
    token.phonemes = U"";
    return token;
}

void add_found(std::vector<Token> &tokens, View text, const Match &found) {
    static const Pattern contracted(tables::tokens::CONTRACTED);
    View written = found[0];
    size_t start = found.start(), end = found.end();
    Match parts;
    auto add = [&](View tag, Phonemes phonemes, Phonemes spoken) {
        tokens.push_back({Text(written), start, end, Text(tag), std::move(phonemes), std::move(spoken)});
    };
    if (found.has("space")) return;
    if (found.has("mark")) {
        tokens.push_back(mark_token(text, start));
    } else if (found.has("markup")) {
        add(U"NFP", U"", {});
    } else if (found.has("foreign")) {
        add(UNKNOWN, U"", {});
    } else if (found.has("to")) {
        add(U"CD", {}, U"to");
    } else if (found.has("number")) {
        add(U"CD", {}, numbers::digits(written));
    } else if (found.has("dots") || found.has("dash")) {
        add(U":", found.has("dots") ? U"..." : U"—", {});
    } else if (found.has("word") && contains(written, U'\'') && contracted.full_match(written, parts)) {
        size_t middle = start + parts.end(1);
        tokens.push_back({Text(parts[1]), start, middle, {}});
        tokens.push_back({Text(parts[2]), middle, end, {}});
    } else {
        add({}, {}, {});
    }
}

// Makes a closing quote that none opened the end of its word, as in *James' book*.
void join_apostrophes(std::vector<Token> &tokens) {
    long opened = 0;
    for (Token &token : tokens) {
        if (token.text != U"'" && token.text != U"‘") continue;
        opened += token.tag == U"``" ? 1 : -1;
        if (opened < 0) opened = 0, token.tag = U"POS", token.phonemes = {};
    }
}

}  // namespace

std::vector<Token> tokenise(View text, const std::vector<Token> &known) {
    static const Pattern pattern(tables::tokens::TOKEN);
    std::vector<Token> tokens;
    auto add = [&](const Match &found) { add_found(tokens, text, found); };
    size_t position = 0;
    for (const Token &token : known) {
        pattern.for_each(text, position, token.start, add);
        tokens.push_back(token);
        position = token.end;
    }
    pattern.for_each(text, position, text.size(), add);
    join_apostrophes(tokens);
    return tokens;
}

}  // namespace kokoro::text
