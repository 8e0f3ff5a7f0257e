// What is said for each written form: a function of its match, and of the dialect. None if it is none after
// all.
#pragma once

#include <optional>

#include "../pattern.h"

namespace kokoro::text {

using Spoken = std::optional<Text>;

namespace amounts {
Spoken money(const Match &found, bool british);
Spoken coded_money(const Match &found, bool british);
Spoken measure(const Match &found, bool british);
Spoken per(const Match &found, bool british);
Spoken feet(const Match &found, bool british);
Spoken angle(const Match &found, bool british);
Spoken inches(const Match &found, bool british);
Spoken mixed(const Match &found, bool british);
Spoken vulgar(const Match &found, bool british);
Spoken count(const Match &found, bool british);
Spoken out_of(const Match &found, bool british);
Spoken number_range(const Match &found, bool british);
Spoken years(const Match &found, bool british);
Spoken ratio(const Match &found, bool british);
Spoken by(const Match &found, bool british);
Spoken digit_groups(const Match &found, bool british);
}  // namespace amounts

namespace dates_and_times {
Spoken day_month(const Match &found, bool british);
Spoken month_day(const Match &found, bool british);
Spoken month_year(const Match &found, bool british);
Spoken month_alone(const Match &found, bool british);
Spoken numeric(const Match &found, bool british);
Spoken duration(const Match &found, bool british);
Spoken timestamp(const Match &found, bool british);
Spoken decade(const Match &found, bool british);
Spoken decades(const Match &found, bool british);
Spoken year_plural(const Match &found, bool british);
Spoken days(const Match &found, bool british);
Spoken quarter(const Match &found, bool british);
Spoken era(const Match &found, bool british);
Spoken clock(const Match &found, bool british);
}  // namespace dates_and_times

namespace electronic {
Spoken address(const Match &found, bool british);
Spoken path(const Match &found, bool british);
Spoken version(const Match &found, bool british);
}  // namespace electronic

namespace science {
Spoken formula(const Match &found, bool british);
Spoken power(const Match &found, bool british);
Spoken scientific(const Match &found, bool british);
Spoken letter(const Match &found, bool british);
}  // namespace science

namespace words {
Spoken ordinal_number(const Match &found, bool british);
Spoken plain(const Match &found, bool british);
Spoken inner(const Match &found, bool british);
Spoken house(const Match &found, bool british);
Spoken state(const Match &found, bool british);
Spoken street(const Match &found, bool british);
Spoken title(const Match &found, bool british);
Spoken numbered(const Match &found, bool british);
Spoken abbreviation(const Match &found, bool british);
Spoken roman_after_name(const Match &found, bool british);
Spoken roman_after_word(const Match &found, bool british);
Spoken said(const Match &found, bool british);
Spoken initials(const Match &found, bool british);
Spoken math(const Match &found, bool british);
Spoken sign(const Match &found, bool british);
Spoken emoji(const Match &found, bool british);
}  // namespace words

}  // namespace kokoro::text
