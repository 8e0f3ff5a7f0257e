#include "sentences.h"

#include <algorithm>
#include <optional>

#include "../base/pattern.h"
#include "../base/strings.h"
#include "../generated/tables.h"

namespace kokoro {

namespace {

namespace patterns = tables::sentences;
namespace abbreviations = tables::abbreviations;

constexpr View ANYWHERE = U"。！？｡．।॥", NEVER_FIRST = U",;:).!?…/&=%",
               GOES_ON = U"のをはがにへとやもで、，";
constexpr View OPENING_BRACKETS = U"([{（【《〈", CLOSING_BRACKETS = U")]}）】》〉";
constexpr size_t WINDOW = 60;          // characters before and after a mark that decide
constexpr size_t SHORT_BEGINNING = 3;  // words: no sentence ends with "At 5 a.m."
constexpr size_t LONGEST_ITEM = 300;   // characters of an item in a line within which the next is looked for
constexpr size_t LONGEST_ASIDE = 200;  // characters in brackets within which no sentence ends
constexpr size_t SHORTEST_WRAPPED_LINE = 40;
constexpr char32_t FIRST_IDEOGRAPH = U'\u2e80';

// The abbreviations and patterns, compiled once.
struct Rules {
    Words before_names{abbreviations::BEFORE_NAMES}, before_numbers{abbreviations::BEFORE_NUMBERS};
    Words at_ends{abbreviations::AT_ENDS}, before_capitals{abbreviations::BEFORE_CAPITALS};
    Words first_words{abbreviations::FIRST_WORDS};
    Pattern mark{patterns::MARK}, next{patterns::NEXT}, before{patterns::BEFORE},
        initials{patterns::INITIALS};
    Pattern roman{patterns::ROMAN}, place{patterns::PLACE}, glued{patterns::GLUED},
        address{patterns::ADDRESS};
    Pattern item{patterns::ITEM}, bracket{patterns::BRACKET}, blank_line{patterns::BLANK_LINE};
    Pattern closing{patterns::CLOSING_MARK};

    bool shorten(View word) const {
        Text name = casefold(word);
        return before_names.has(name) || before_numbers.has(name) || at_ends.has(name) ||
               before_capitals.has(name) || initials.full_match(word);
    }
};

const Rules &rules() {
    static const Rules all;
    return all;
}

bool match_at(const Pattern &pattern, View text, size_t start, Match &found) {
    return pattern.match(text, start, text.size(), found);
}

bool is_lower_letter(View text) { return is_lower(text.substr(0, 1)); }

// Brackets of a text.
struct Asides {
    std::vector<char> inside;    // a byte for each character, not 0 within brackets that are closed soon
    std::vector<size_t> opened;  // those that are left open
};

Asides find_asides(View text) {
    Asides asides{std::vector<char>(text.size() + 1), {}};
    std::vector<char> &inside = asides.inside;
    std::vector<size_t> &opened = asides.opened;
    rules().bracket.for_each(text, 0, text.size(), [&](const Match &found) {
        size_t kind = CLOSING_BRACKETS.find(found[0][0]);
        if (kind == View::npos) {
            opened.push_back(found.start());
            return;
        }
        while (!opened.empty() && found.start() - opened.back() <= LONGEST_ASIDE) {
            size_t opening = opened.back();
            opened.pop_back();
            if (text[opening] == OPENING_BRACKETS[kind]) {
                std::fill(inside.begin() + static_cast<long>(opening),
                          inside.begin() + static_cast<long>(found.start()), 1);
                break;
            }
        }
    });
    return asides;
}

// Returns where the second item begins if a list begins at `start`: "1) red 2) blue".
std::optional<size_t> next_item(View text, size_t start) {
    Match found;
    if (!match_at(rules().item, text, start, found)) return std::nullopt;
    View place = found["place"];
    Text item = U" " + Text(found["before"]);
    if (is_digit(place)) {
        std::string following = std::to_string(value_of(place) + 1);
        item.append(following.begin(), following.end());
    } else {
        item += place[0] + 1;
    }
    item += found["after"];
    item += U' ';
    size_t from = found.end() - 1, end = std::min(found.end() + LONGEST_ITEM, text.size());
    size_t at = text.substr(0, end).find(item, from);
    return at == View::npos ? std::nullopt : std::optional<size_t>(at + 1);
}

// Returns whether a sentence may end where no space follows: "so.Then", but not in an address.
bool is_glued(View before, View mark, View after) {
    if (after[0] >= FIRST_IDEOGRAPH) return true;
    std::vector<View> words_before = split(before), words_after = split(after);
    Text token;
    if (!words_before.empty()) token += words_before.back();
    token += mark;
    if (!words_after.empty()) token += words_after.front();
    Text around(before.substr(before.size() - std::min<size_t>(2, before.size())));
    around += mark;
    around += after.substr(0, 2);
    return rules().glued.full_match(around) && !rules().address.search(token);
}

// Returns whether a full stop after the word `last` ends a sentence. `word` is what follows, and often begins
// one if `begins`; `before` is what the sentence holds before the full stop, if that is little.
bool ends_after(View last, View word, View before, bool begins) {
    const Rules &rule = rules();
    Text name = casefold(last);
    // The place of a list's item.
    if (strip(before, U" \t•⁃*-(") == last && rule.place.full_match(last)) return false;
    if (rule.before_names.has(name) || rule.before_names.has(last)) return false;
    if (name == U"a.m" || name == U"p.m") return before.empty() || split(before).size() > SHORT_BEGINNING;
    if (rule.at_ends.has(name)) return true;
    if (rule.before_capitals.has(name) || rule.initials.full_match(last)) return begins;
    if (rule.before_numbers.has(name) || rule.before_numbers.has(last)) {
        return !(is_digit(word) || rule.roman.full_match(word));
    }
    return true;
}

// Returns the last part of what stands before a mark.
View last_word(View before) {
    size_t start = 0;
    rules().before.for_each(before, 0, before.size(), [&](const Match &found) { start = found.end(); });
    return before.substr(start);
}

// Returns whether the sentence from `start` on ends with the mark that was found.
bool ends_at(View text, const Match &found, size_t start, bool cased) {
    const Rules &rule = rules();
    View mark = found["mark"];
    size_t at = found.start(), end = found.end("closing"),
           from = std::max(start, at > WINDOW ? at - WINDOW : 0);
    View before = from < at ? text.substr(from, at - from) : View(), after = text.substr(end, WINDOW);
    auto first_in = [](View letters, View of) { return !of.empty() && contains(letters, of[0]); };
    if (contains(ANYWHERE, mark[0])) {
        bool decimal =
            mark == U"．" && !before.empty() && is_digit(before.back()) && is_digit(after.substr(0, 1));
        return !decimal && !(found.end("closing") > found.start("closing") && first_in(GOES_ON, after));
    }
    if (before.empty() || before.back() == '[' || before.back() == '(') return false;
    Match next, item;
    match_at(rule.next, after, 0, next);
    View word = next["word"], rest = strip_start(after);
    bool has_item = match_at(rule.item, rest, 0, item);
    View space = found["space"];
    if (space.empty() && !after.empty() && !is_glued(before, mark, after)) return false;
    if (first_in(NEVER_FIRST, word) || (word == U"I" && contains(U".…", mark[0]) && mark != U"."))
        return false;
    View last = last_word(before);
    bool goes_on = is_lower_letter(word) && !has_item;
    if (goes_on && ((cased && !contains(space, U'\n')) || rule.shorten(last))) return false;
    if (mark != U".") return true;
    if (first_in(U"([", rest) && rule.shorten(last)) return false;
    bool shortened = !next["dot"].empty() && (word.size() == 1 || rule.shorten(word));
    return ends_after(last, word, at - start <= WINDOW ? before : View(),
                      rule.first_words.has(word) && !shortened);
}

// Decides which line breaks end a sentence; asked in order.
class Lines {
public:
    Lines(View text, size_t column) : text_(text), column_(column) {}

    bool ends_at(const Match &found) {
        size_t start = found.start(), end = found.end();
        View following = text_.substr(end, WINDOW), line = found["line"];
        Match item;
        if (following.empty() || match_at(rules().closing, following, 0, item)) return false;
        if (std::count(line.begin(), line.end(), U'\n') > 1 || match_at(rules().item, following, 0, item))
            return true;
        char32_t before = text_[start ? start - 1 : text_.size() - 1];
        if (is_lower_letter(following) || contains(GOES_ON, before)) return false;
        if (start >= paragraph_end_) measure(start);
        // A line was wrapped if the next word had no place on it.
        size_t first = line_start(start);
        size_t length = start - first + (first ? 0 : column_);
        size_t word = split(following)[0].size();
        return length < SHORTEST_WRAPPED_LINE || length + 1 + word <= longest_;
    }

private:
    size_t line_start(size_t place) const { return place ? text_.rfind(U'\n', place - 1) + 1 : 0; }

    // Finds the end of the paragraph, and its longest line.
    void measure(size_t start) {
        Match blank;
        bool found = rules().blank_line.search(text_, start, text_.size(), blank);
        paragraph_end_ = found ? blank.start() : text_.size();
        size_t first = line_start(start);
        std::vector<View> all = split(text_.substr(first, paragraph_end_ - first), U'\n');
        longest_ = all[0].size() + (first ? 0 : column_);
        for (View line : all) longest_ = std::max(longest_, line.size());
    }

    View text_;
    size_t column_;
    size_t paragraph_end_ = 0, longest_ = 0;
};

// Returns the offsets at which a sentence begins after another.
std::vector<size_t> find_ends(View text, bool cased, size_t column) {
    std::vector<size_t> ends;
    std::vector<char> asides = find_asides(text).inside;
    cased = cased || text != lower(text);
    Lines lines(text, column);
    size_t start = text.size() - strip_start(text).size();
    std::optional<size_t> item = next_item(text, start);
    auto end_at = [&](size_t place) {
        ends.push_back(place);
        start = place;
        item = next_item(text, place);
    };
    rules().mark.for_each(text, 0, text.size(), [&](const Match &found) {
        while (item && *item && *item <= found.start()) end_at(*item);
        bool ended = false;
        if (found.has("line")) {
            ended = lines.ends_at(found);
        } else {
            ended = rules().blank_line.search(found["space"]) ||
                    (!asides[found.end("closing") - 1] && ends_at(text, found, start, cased));
        }
        if (ended) end_at(found.end());
    });
    while (item && *item) end_at(*item);
    return ends;
}

}  // namespace

std::vector<std::pair<size_t, size_t>> find_sentences(std::u32string_view text, bool cased, size_t column) {
    std::vector<std::pair<size_t, size_t>> spans;
    size_t start = 0;
    std::vector<size_t> ends = find_ends(text, cased, column);
    ends.push_back(text.size());
    for (size_t end : ends) {
        View sentence = end > start ? text.substr(start, end - start) : View();
        View shown = strip(sentence);
        if (!shown.empty()) {
            size_t first = end - strip_start(sentence).size();
            spans.emplace_back(first, start + strip_end(sentence).size());
        }
        start = end;
    }
    return spans;
}

bool bracket_is_open(std::u32string_view text, size_t end) {
    std::vector<size_t> opened = find_asides(text).opened;
    return std::any_of(opened.begin(), opened.end(), [&](size_t start) {
        return start < end && text.size() - start <= LONGEST_ASIDE;
    });
}

}  // namespace kokoro
