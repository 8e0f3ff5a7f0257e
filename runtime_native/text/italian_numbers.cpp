#include "italian_numbers.h"

#include "clauses.h"
#include "../base/pattern.h"
#include "../generated/tables.h"
#include "written_forms/numbers.h"

namespace kokoro::text::italian {

namespace {

namespace tables = kokoro::tables::italian_numbers;

const std::vector<Text> below_20 = list(tables::BELOW_20), tens = list(tables::TENS);
const std::vector<Text> ordinals = list(tables::ORDINALS), months = list(tables::MONTHS);

Text cardinal(long long number);

Text joined(const Text &head, long long rest) { return rest ? head + U" " + cardinal(rest) : head; }

// Returns a number below a million millions in words, those of hundreds and thousands apart.
Text cardinal(long long number) {
    if (number < 20) return below_20[number];
    if (number < 100) {
        Text word = tens[number / 10 - 2];
        long long ones = number % 10;
        if (!ones) return word;
        if (ones == 1 || ones == 8) word.pop_back();
        return word + (ones == 3 ? U"tré" : below_20[ones]);
    }
    if (number < 1000) return joined((number < 200 ? U"" : below_20[number / 100]) + U"cento", number % 100);
    if (number < 1000000) {
        long long thousands = number / 1000;
        return joined(thousands == 1 ? U"mille" : cardinal(thousands) + U" mila", number % 1000);
    }
    bool large = number >= 1000000000;
    long long value = large ? 1000000000 : 1000000, count = number / value;
    Text head = count > 1 ? cardinal(count) + (large ? U" miliardi" : U" milioni")
                : large   ? U"un miliardo"
                          : U"un milione";
    return joined(head, number % value);
}

// Returns a number's ordinal, of the masculine.
Text ordinal(long long number) {
    if (number <= 10) return number ? ordinals[number - 1] : U"zeresimo";
    Text words = cardinal(number);
    size_t start = words.rfind(U' ') + 1;
    Text before = words.substr(0, start), last = words.substr(start);
    if (last == U"mila") last = U"mille";
    bool whole = ends_with(last, U"tré") || ends_with(last, U"sei");
    return before + (whole ? replaced(last, U"é", U"e") : last.substr(0, last.size() - 1)) + U"esimo";
}

Text date(View text) {
    static const Pattern pattern(tables::DATE);
    Match found;
    if (!pattern.full_match(text, found)) return {};
    bool day_first = found.has("day");
    long long day = value_of(found[day_first ? 1 : 6]), month = value_of(found[day_first ? 2 : 5]);
    if (!day || day > 31 || !month || month > 12) return {};
    Text spoken = day == 1 ? U"primo" : cardinal(day);
    return spoken + U" " + months[month - 1] + U" " + cardinal(value_of(found[day_first ? 3 : 4]));
}

Text time_of(View text) {
    static const Pattern pattern(tables::TIME);
    Match found;
    if (!pattern.full_match(text, found)) return {};
    long long minutes = value_of(found[2]);
    return cardinal(value_of(found[1])) + (minutes ? U" e " + cardinal(minutes) : U"");
}

Text money(View text) {
    static const Pattern pattern(tables::MONEY);
    static const Table currencies(tables::CURRENCIES);
    Match found;
    if (!pattern.full_match(text, found) || found[1].empty() == found[4].empty()) return {};
    Text amount = number_in_words(found[2], cardinal, U"virgola");
    long long cents = value_of(found[3]);
    amount += U" " + Text(currencies.get(found[1].empty() ? found[4] : found[1]));
    return cents ? amount + U" e " + cardinal(cents) : amount;
}

Text ordinal_of(View text) {
    static const Pattern pattern(tables::ORDINAL);
    Match found;
    if (!pattern.full_match(text, found)) return {};
    Text masculine = ordinal(value_of(found[1]));
    if (found[2] == U"ª") masculine.back() = U'a';
    return masculine;
}

const Table &letter_names() {
    static const Table all(tables::LETTERS);
    return all;
}

const Table &units() {
    static const Table all(tables::UNITS);
    return all;
}

// Returns a letter of Italian; of other letters the one below their accents, if it is Latin.
Text latin(char32_t letter) {
    if (letter_names().has(View(&letter, 1)) || contains(U"àèéìòóù'", letter)) return Text(1, letter);
    size_t acute = View(U"íúá").find(letter);
    if (acute != View::npos) return Text(1, U"ìùà"[acute]);
    Text found;
    for (char32_t each : ascii_of(letter)) {
        if (each >= 'a' && each <= 'z') found += each;
    }
    return found;
}

Text part_in_letters(View part) {
    static const Table signs(tables::SIGNS);
    if (is_decimal(part[0])) return number_in_words(part, cardinal, U"virgola");
    if (const Text *unit = units().find(part)) return *unit;
    if (!is_alpha(part[0])) return Text(signs.get(part));
    Text letters, names;
    for (char32_t letter : part) letters += latin(letter);
    bool word = letters.size() > 1 && letters.find_first_of(U"aeiouàèéìòóùy'") != Text::npos;
    if (word || contains(U"aeioèé", letters)) return letters;
    for (char32_t letter : letters) names += Text(letter_names().get(View(&letter, 1))) + U" ";
    return Text(strip(replaced(names, U"_", U" ")));
}

Text spoken(View written) {
    static const Pattern roman(tables::ROMAN), parts(tables::PARTS), minus(tables::MINUS);
    Match found;
    if (roman.full_match(written)) return ordinal(numbers::roman(written).value_or(0));
    Text text = replaced(nfc(lower(written)), U"’", U"'");
    if (minus.match(text, 0, text.size(), found)) return U"meno " + spoken(written.substr(1));
    View shortened = strip_end(text, U".");
    bool dotted = !text.empty() && contains(text, U'.');
    if (const Text *words = abbreviations().find(shortened); words && dotted) return *words;
    if (const Text *unit = units().find(text)) return *unit;
    for (auto read : {date, time_of, money, ordinal_of}) {
        if (Text known = read(text); !known.empty()) return known;
    }
    std::vector<Text> words;
    for (View part : parts.find_all(text)) {
        if (Text letters = part_in_letters(part); !letters.empty()) words.push_back(std::move(letters));
    }
    return replaced(join(words, U" "), U"' ", U"'");
}

}  // namespace

const Table &abbreviations() {
    static const Table all(tables::ABBREVIATIONS);
    return all;
}

std::vector<Text> in_letters(View written) {
    Text words = spoken(written);
    std::vector<View> found = split(words);
    return {found.begin(), found.end()};
}

}  // namespace kokoro::text::italian
