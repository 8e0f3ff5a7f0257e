// Dates, decades, centuries and times of day.
#include "../../base/strings.h"
#include "../../generated/tables.h"
#include "forms.h"
#include "numbers.h"

namespace kokoro::text::dates_and_times {

namespace {

using namespace numbers;

Text month_name(View written) {
    static const Table months(tables::tables::MONTHS);
    return Text(months.get(lower(written.substr(0, 3))));
}

Text month_name(int number) {
    static const std::vector<Row> months = rows(tables::tables::MONTHS);
    return months[number - 1][1];
}

// Returns whether the month may be another word: "may" in lower case and without a year.
bool is_verb(const Match &found) {
    static const Words verbs("may march mar dec sep");
    return verbs.has(found["month"]) && !found.has("year");
}

Text year_of(const Match &found) { return found.has("year") ? U" " + year(found["year"]) : Text(); }

Text counted(View number, View unit) {
    View count = strip_start(number, U"0");
    if (count.empty()) count = U"0";
    return cardinal(count) + U" " + Text(unit) + (count == U"1" ? U"" : U"s");
}

Text time_of(View hour, View minute) {
    View significant = strip_start(hour, U"0");
    Text spoken = cardinal(significant.empty() ? View(U"0") : significant);
    if (minute.empty() || minute == U"00") return spoken;
    return spoken + U" " + (minute[0] == '0' ? digits(minute, U"oh") : cardinal(minute));
}

Text decade_of(View century, View tens) {
    if (tens != U"0") return cardinal(century) + U" " + plural(cardinal(Text(tens) + U"0"));
    return century == U"20" ? Text(U"two thousands") : cardinal(century) + U" hundreds";
}

}  // namespace

Spoken day_month(const Match &found, bool) {
    if (is_verb(found) || lower(Text(found["day"]) + Text(found["month"])) == U"1may") return {};
    return U"the " + ordinal(found["day"]) + U" of " + month_name(found["month"]) + year_of(found);
}

Spoken month_day(const Match &found, bool british) {
    if (is_verb(found) && !found.has("suffix")) return {};
    Text the = british || found.has("the") ? U" the " : U" ";
    return month_name(found["month"]) + the + ordinal(found["day"]) + year_of(found);
}

Spoken month_year(const Match &found, bool) {
    return month_name(found["month"]) + U" " + Text(found["of"]) + year(found["year"]);
}

Spoken month_alone(const Match &found, bool) { return month_name(found["month"]); }

Spoken numeric(const Match &found, bool british) {
    Text day;
    View years = found.has("year") ? found["year"] : found["last"];
    int month;
    bool month_first;
    if (found.has("year")) {
        day = found["day"], month = value_of(found["month"]), month_first = !british;
    } else {
        int first = value_of(found["first"]), second = value_of(found["second"]);
        month_first = (first <= 12 && !british) || second > 12;
        month = month_first ? first : second;
        day = written(month_first ? second : first);
    }
    if (month > 12) {
        static const Pattern part(kokoro::tables::dates_and_times::NUMBER);
        std::vector<Text> spoken;
        for (View number : part.find_all(found[0])) spoken.push_back(cardinal(number));
        return join(spoken, U" ");
    }
    Text name = month_name(month);
    Text date = month_first ? name + U" " + ordinal(day) : U"the " + ordinal(day) + U" of " + name;
    return date + U" " + short_year(years);
}

Spoken duration(const Match &found, bool) {
    std::vector<Text> parts;
    auto add = [&](const char *one, const char *other, View unit) {
        View number = found[one].empty() && other ? found[other] : found[one];
        if (!number.empty()) parts.push_back(counted(number, unit));
    };
    add("hours", nullptr, U"hour");
    add("minutes", "alone", U"minute");
    add("seconds", "rest", U"second");
    return join(parts, U" ");
}

Spoken timestamp(const Match &found, bool british) {
    Text zone = found["zone"] == U"Z" ? U" UTC" : U"";
    return *numeric(found, british) + U" " + time_of(found["hour"], found["minute"]) + zone;
}

Spoken decade(const Match &found, bool) {
    if (found.has("short")) return plural(cardinal(found["short"]));
    return decade_of(found["century"], found["decade"]);
}

Spoken decades(const Match &found, bool) {
    Text until = found.has("other") ? decade_of(found["other"], found["tens"])
                                    : plural(cardinal(Text(found["short"]) + U"0"));
    return decade_of(found["century"], found["decade"]) + U" to " + until;
}

Spoken year_plural(const Match &found, bool) { return plural(year(found["year"])); }

Spoken days(const Match &found, bool) {
    static const std::vector<Text> names = list("Monday Tuesday Wednesday Thursday Friday Saturday Sunday");
    auto name = [&](View written) {
        for (const Text &each : names) {
            if (starts_with(each, written.substr(0, 2))) return each;
        }
        return Text();
    };
    return name(found["first"]) + U" to " + name(found["last"]);
}

Spoken quarter(const Match &found, bool) {
    return U"the " + ordinal(found["quarter"]) + U" quarter of " + short_year(found["year"]);
}

Spoken era(const Match &found, bool) { return short_year(found["year"]); }

Spoken clock(const Match &found, bool) {
    View hour = found["hour"], minute = found["minute"], meridiem = found["meridiem"];
    Text spoken;
    if (found.has("second")) {
        spoken = counted(hour, U"hour") + U" " + counted(minute, U"minute") + U" and " +
                 counted(found["second"], U"second");
    } else {
        spoken = time_of(hour, minute);
        if (meridiem.empty() && minute == U"00") spoken += U" o'clock";
    }
    if (found.has("from")) spoken = time_of(found["from"], found["from_minute"]) + U" to " + spoken;
    if (!meridiem.empty()) spoken += contains(U"pP", meridiem[0]) ? U" PM" : U" AM";
    if (found.has("zone")) spoken += U" " + without(upper(found["zone"]), U'.');
    return found.has("dash") ? spoken + U" to" : spoken;
}

}  // namespace kokoro::text::dates_and_times
