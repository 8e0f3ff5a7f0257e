// The words for each written form, as a function of its match and of the dialect. None if the match is no
// written form.
#pragma once

#include <optional>

#include "../../base/pattern.h"

namespace kokoro::text {

using Spoken = std::optional<Text>;
using Form = Spoken(const Match &found, bool british);

namespace amounts {
Form money, coded_money, measure, per, feet, angle, inches, mixed, vulgar, count, out_of, number_range, years,
    ratio, by, digit_groups;
}  // namespace amounts

namespace amounts {
// Returns the words for several of a unit.
Text unit_alone(const Match &found);
}  // namespace amounts

namespace dates_and_times {
Form day_month, month_day, month_year, month_alone, numeric, duration, timestamp, decade, decades,
    year_plural, days, quarter, era, clock;
}  // namespace dates_and_times

namespace electronic {
Form address, path, version;
}  // namespace electronic

namespace science {
Form formula, power, scientific, letter, power_with_unit;
}  // namespace science

namespace words {
Form ordinal_number, plain, inner, house, state, street, title, numbered, abbreviation, roman_after_name,
    roman_after_word, said, initials, math, sign, emoji;
}  // namespace words

}  // namespace kokoro::text
