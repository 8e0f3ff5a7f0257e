// Python's data on characters, from tables that `exporter/native/unicode_tables.py` makes of its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "characters.h"

namespace kokoro {

using Text = std::u32string;
using View = std::u32string_view;

bool is_alpha(char32_t letter);
bool is_decimal(char32_t letter);
bool is_digit(char32_t letter);
bool is_numeric(char32_t letter);
bool is_alnum(char32_t letter);
bool is_sign(char32_t letter);    // of the categories Symbol and Number
bool is_silent(char32_t letter);  // a mark on a letter, or an invisible character
inline bool is_ascii(char32_t letter) { return letter < 0x80; }

// As Python's `str` methods of these names: false for an empty text, except `is_ascii`.
bool is_alpha(View text);
bool is_decimal(View text);
bool is_digit(View text);
bool is_upper(View text);
bool is_lower(View text);
bool is_title(View text);
bool is_ascii(View text);

char32_t simple_lower(char32_t letter);
Text lower(View text);
Text upper(View text);
Text capitalize(View text);
Text casefold(View text);
Text nfc(View text);

// Returns the value of a number, such as ½ without its fraction.
long long number_value(char32_t letter);
// Returns the value of a decimal digit.
inline int digit_value(char32_t digit) { return static_cast<int>(number_value(digit)); }
// Returns the value of at most 18 decimal digits.
inline long long value_of(View digits) {
    long long value = 0;
    for (char32_t digit : digits) value = 10 * value + digit_value(digit);
    return value;
}

Text ascii_of(char32_t letter);  // the ASCII characters in its compatibility decomposition
Text base_of(char32_t letter);   // the ASCII letters that a Latin one is read as
Text letter_name(
    char32_t letter);  // the last word of a letter's name, such as "alpha"; "letter" if it has none
Text sign_name(char32_t letter);  // the name of a number, sign or picture; empty if it has none

}  // namespace kokoro
