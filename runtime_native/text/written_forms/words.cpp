// Numbers alone and within words, Roman numerals, abbreviations and signs.
#include "../../base/strings.h"
#include "../../generated/tables.h"
#include "forms.h"
#include "numbers.h"

namespace kokoro::text::words {

namespace {

using namespace numbers;
namespace patterns = tables::words;
namespace names = tables::tables;

constexpr char32_t FIRST_FLAG_LETTER = 0x1F1E6;

Text within_word(View number) {
    if (number.size() == 4 && number[0] != '0') return year(number);
    if (number[0] == '0' || number.size() > 3) return digits(number);
    if (number.size() == 3 && number.substr(1) != U"00") {
        Text rest = number[1] == '0' ? U"oh " + digits(number.substr(2)) : cardinal(number.substr(1));
        return digits(number.substr(0, 1)) + U" " + rest;
    }
    return cardinal(number);
}

const Table &streets() {
    static const Table all(names::STREETS);
    return all;
}

const Table &before_numbers() {
    static const Table all(names::BEFORE_NUMBERS);
    return all;
}

}  // namespace

Spoken ordinal_number(const Match &found, bool) {
    Text number = without(found["number"], U','), suffix = lower(found["suffix"]);
    bool teen = number.size() > 1 && number[number.size() - 2] == '1';
    char32_t last = teen ? U'0' : number.back();
    Text right = last == '1' ? U"st" : last == '2' ? U"nd" : last == '3' ? U"rd" : U"th";
    return suffix == right ? Spoken(ordinal(number)) : std::nullopt;
}

Spoken plain(const Match &found, bool) {
    View number = found["number"], sign = found["sign"];
    bool whole = is_decimal(number);
    // A book's number (ISBN) or a bank card's.
    if ((number.size() == 13 || number.size() == 16) && whole && !ends_with(number, U"000"))
        return digits(number);
    Text spoken = number.size() == 4 && whole && number[0] != '0' ? year(number) : decimal(number);
    if (sign.empty()) return spoken;
    return Text(sign == U"+" ? U"plus " : sign == U"±" ? U"plus or minus " : U"minus ") + spoken;
}

Spoken inner(const Match &found, bool) {
    return contains(found[0], U'.') ? decimal(found[0]) : within_word(found[0]);
}

Spoken house(const Match &found, bool british) {
    static const Pattern ordinal(kokoro::tables::forms::ordinal_number);
    static const Table quarters(patterns::QUARTERS);
    static const Table directions("N\tNorth\nS\tSouth\nE\tEast\nW\tWest\n");
    std::vector<Text> words = {within_word(found["number"])};
    for (View word : split(found["before"])) {
        Match own;
        Spoken number = ordinal.full_match(word, own) ? ordinal_number(own, british) : std::nullopt;
        words.push_back(number && !number->empty() ? *number
                                                   : Text(directions.get(strip_end(word, U"."), word)));
    }
    words.emplace_back(streets().get(capitalize(found["street"])));
    if (found.has("end")) words.emplace_back(quarters.get(found["end"]));
    return Text(strip(join(words, U" ")));
}

Spoken state(const Match &found, bool) {
    static const Words ambiguous(names::AMBIGUOUS_STATES);
    static const Table states(names::STATES);
    if (ambiguous.has(found["state"]) && !found.has("code")) return {};
    Text spoken(states.get(found["state"]));
    for (const char *code : {"code", "more"}) {
        if (found.has(code)) spoken += U" " + digits(found[code]);
    }
    return spoken;
}

Spoken street(const Match &found, bool) {
    return found.has("name") ? Text(found["name"]) + U" Drive" : Text(streets().get(found["street"]));
}

Spoken title(const Match &found, bool) {
    static const Pattern word(patterns::WORD);
    static const Words first_words(tables::abbreviations::FIRST_WORDS);
    static const Table titles(names::BEFORE_NAMES);
    // As it is in the lexicon.
    if (!found.has("title")) return U"Ms.";
    Match next;
    View text = found.text();
    // The name of a street may end a sentence.
    bool ends = found["title"] == U"St" && word.match(text, found.end(), text.size(), next) &&
                first_words.has(next[1]);
    return ends ? std::nullopt : Spoken(titles.get(found["title"]));
}

Spoken numbered(const Match &found, bool) {
    static const Table before_years(names::BEFORE_YEARS);
    if (found.has("since")) return Text(before_years.get(found["since"]));
    switch (found[0][0]) {
        case U'§': return U"section";
        case U'~': return U"about";
        case U'<': return U"less than";
        case U'>': return U"more than";
        default: return Text(before_numbers().get(found["word"], U"number"));
    }
}

Spoken abbreviation(const Match &found, bool) {
    static const Table all(names::ANYWHERE);
    return Text(all.get(found["word"]));
}

Spoken roman_after_name(const Match &found, bool) {
    static const Words kings(patterns::KINGS);
    size_t start = found.start(), from = start > 20 ? start - 20 : 0;
    std::vector<View> before = split(found.text().substr(from, start - from));
    std::optional<int> value = roman(found["roman"]);
    if (before.empty() || !value) return {};
    if (kings.has(before.back())) return U"the " + as_ordinal(cardinal(*value));
    // Rocky III, but not Malcolm X.
    return is_title(before.back()) && found["roman"].size() > 1 ? Spoken(cardinal(*value)) : std::nullopt;
}

Spoken roman_after_word(const Match &found, bool) {
    View written = found["word"], numeral = found["roman"];
    std::optional<int> value = roman(numeral);
    Text word(before_numbers().get(strip_end(written, U"."), written));
    bool letter = numeral.size() == 1 && contains(U"CDML", numeral);
    if (!value || (letter && lower(word) != U"chapter")) return {};
    return word + U" " + cardinal(*value);
}

Spoken said(const Match &found, bool) {
    static const Table all(patterns::SAID_OTHERWISE);
    return Text(all.get(found[0]));
}

Spoken initials(const Match &found, bool) {
    std::vector<Text> parts;
    for (View letters : split(found[0], U'&')) parts.push_back(spaced(letters));
    return join(parts, U" and ");
}

Spoken math(const Match &found, bool) {
    static const Pattern long_word(patterns::LONG_WORD);
    static const Table all(patterns::MATH);
    size_t start = found.start();
    Match before;
    // A star between words is no sign of mathematics.
    bool star =
        found["sign"] == U"*" && long_word.search(found.text(), start > 6 ? start - 6 : 0, start, before);
    return star ? Text(U"star") : Text(all.get(found["sign"]));
}

Spoken sign(const Match &found, bool) {
    static const Table all(patterns::SIGNS);
    if (found.has("markup")) return {};
    return found.has("hashtag") ? Text(U"hashtag") : Text(all.get(found[0]));
}

Spoken emoji(const Match &found, bool) {
    if (found.has("flag")) {
        Text letters;
        for (char32_t letter : found["flag"]) letters += letter - FIRST_FLAG_LETTER + U'A';
        return U"flag " + spaced(letters);
    }
    char32_t first = found[0][0];
    static const Table short_names(names::EMOJI_NAMES);
    if (const Text *name = short_names.find(found[0].substr(0, 1))) return *name;
    if (is_numeric(first)) return cardinal(static_cast<int>(number_value(first)));
    return sign_name(first);
}

}  // namespace kokoro::text::words
