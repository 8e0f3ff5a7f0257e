// Numbers as English words, as a reader says them: without "and", without hyphens.
#pragma once

#include <optional>

#include "../../base/unicode.h"

namespace kokoro::text::numbers {

// Returns the names of digits; other characters are left out.
Text digits(View written, View zero = U"zero");
// Returns digits, with or without commas, as a cardinal number; those with zeros before it one by one.
Text cardinal(View written);
inline Text cardinal(int value) {
    std::string digits = std::to_string(value);
    return cardinal(Text(digits.begin(), digits.end()));
}
// Returns digits as an ordinal number.
Text ordinal(View written);
// Returns the ordinal number of a cardinal one.
Text as_ordinal(View words);
// Returns four digits as a year: 1905 as "nineteen oh five", 2000 as "two thousand".
Text year(View written);
// Returns a year of one to four digits: 05 as "oh five", 340 as "three forty".
Text short_year(View written);
// Returns a number with or without commas, a point and a sign.
Text decimal(View written);
// Returns the plural of the last word, a number: "sixties", "halves".
Text plural(View word);
// Returns a fraction: "three quarters", "one half"; those of one and zero with "over".
Text fraction(View numerator, View denominator);
// Returns the value of a Roman numeral in capitals, or none if it is not one.
std::optional<int> roman(View written);
// Returns the words of a number as misaki's flags change them: "&" says "and" in it, "n" a short one, "a"
// says "a hundred" for "one hundred". What is not ASCII in them is phonemes.
Text with_flags(View words, View flags);

// Returns a number in digits.
Text written(int value);

}  // namespace kokoro::text::numbers
