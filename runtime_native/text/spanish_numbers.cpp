#include "spanish_numbers.h"

#include "clauses.h"
#include "../base/pattern.h"
#include "../generated/tables.h"

namespace kokoro::text::spanish {

namespace {

namespace tables = kokoro::tables::spanish_numbers;

constexpr View VOWELS = U"aeiouáéíóúüy";

Text cardinal(long long number);

Text joined(const Text &head, long long rest) { return rest ? head + U" " + cardinal(rest) : head; }

// Returns a number whose last word loses its ending: ``veintiún mil``.
Text before_noun(long long number) {
    Text words = cardinal(number);
    if (ends_with(words, U"veintiuno")) return words.substr(0, words.size() - 3) + U"ún";
    return ends_with(words, U"uno") ? words.substr(0, words.size() - 1) : words;
}

// Returns a number below a million millions in words.
Text cardinal(long long number) {
    static const std::vector<Text> below_30 = list(tables::BELOW_30), tens = list(tables::TENS);
    static const std::vector<Text> hundreds = list(tables::HUNDREDS);
    if (number < 30) return below_30[number];
    if (number < 100) return tens[number / 10 - 3] + (number % 10 ? U" y " + below_30[number % 10] : U"");
    if (number == 100) return U"cien";
    if (number < 1000) return joined(hundreds[number / 100 - 1], number % 100);
    if (number < 1000000) {
        long long thousands = number / 1000;
        return joined(thousands == 1 ? U"mil" : before_noun(thousands) + U" mil", number % 1000);
    }
    long long millions = number / 1000000;
    return joined(millions == 1 ? U"un millón" : before_noun(millions) + U" millones", number % 1000000);
}

const Table &letter_names() {
    static const Table all(tables::LETTERS);
    return all;
}

// Returns a letter of Spanish; of other letters the one below their accents, if it is Latin.
Text latin(char32_t letter) {
    if (letter_names().has(View(&letter, 1)) || contains(U"áéíóúü", letter)) return Text(1, letter);
    Text found;
    for (char32_t each : ascii_of(letter)) {
        if (each >= 'a' && each <= 'z') found += each;
    }
    return found;
}

Text part_in_letters(View part) {
    static const Table signs(tables::SIGNS), units(tables::UNITS);
    if (is_decimal(part[0])) return number_in_words(part, cardinal, U"coma");
    if (const Text *unit = units.find(part)) return *unit;
    if (!is_alpha(part[0])) return Text(signs.get(part));
    Text letters, names;
    for (char32_t letter : part) letters += latin(letter);
    bool word = letters.size() > 1 && letters.find_first_of(VOWELS) != Text::npos;
    if (word || contains(U"aeiouy", letters)) return letters;
    for (char32_t letter : letters) names += Text(letter_names().get(View(&letter, 1))) + U" ";
    return replaced(names, U"_", U" ");
}

}  // namespace

const Table &abbreviations() {
    static const Table all(tables::ABBREVIATIONS);
    return all;
}

std::vector<Text> in_letters(View written) {
    static const Pattern parts(tables::PARTS), minus(tables::MINUS);
    std::vector<Text> words;
    Text small = lower(written);
    Match found;
    if (minus.match(small, 0, small.size(), found)) {
        words.emplace_back(U"menos");
        small.erase(0, 1);
    }
    for (View part : parts.find_all(small)) {
        Text letters = part_in_letters(part);
        for (View word : split(letters)) words.emplace_back(word);
    }
    return words;
}

}  // namespace kokoro::text::spanish
