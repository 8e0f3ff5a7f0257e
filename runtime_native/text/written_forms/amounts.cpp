// Money, measures, percentages, ranges and fractions.
#include <charconv>

#include "../../base/strings.h"
#include "../../generated/tables.h"
#include "forms.h"
#include "numbers.h"
#include "units.h"

namespace kokoro::text::amounts {

namespace {

using namespace numbers;
namespace tables = kokoro::tables::tables;

const Table &scales() {
    static const Table all(tables::SCALES);
    return all;
}

const Table &periods() {
    static const Table all(tables::PERIODS);
    return all;
}

// Returns true if an amount belongs to a noun that has an article: "a 5 km run".
bool before_noun(const Match &found) {
    static const Pattern article(kokoro::tables::amounts::ARTICLE), noun(kokoro::tables::amounts::NOUN);
    Match around;
    View text = found.text();
    size_t start = found.start();
    return article.search(text, start > 3 ? start - 3 : 0, start, around) &&
           noun.match(text, found.end(), text.size(), around);
}

Text whole_count(View whole) {
    View significant = strip_start(whole, U"0,");
    return cardinal(significant.empty() ? View(U"0") : significant);
}

// Returns what is said for an amount; `names` are those of one and several, of the unit and of its hundredth.
Text amount_of(View amount, View scale, const Row &names) {
    size_t point = amount.find(U'.');
    View whole = amount.substr(0, point), part = point == View::npos ? View() : amount.substr(point + 1);
    if (!scale.empty()) return decimal(amount) + U" " + Text(scales().get(scale)) + U" " + names[1];
    if (strip(part, U"0").empty()) {
        if (whole.empty()) whole = U"0";
        return whole_count(whole) + U" " + (whole == U"1" ? names[0] : names[1]);
    }
    if (names[2].empty() || !strip(tail(part, 2), U"0").empty()) return decimal(amount) + U" " + names[1];
    Text hundredths(part.substr(0, 2));
    hundredths.resize(2, U'0');
    Text cents(strip_start(hundredths, U"0"));
    Text spoken = cardinal(cents) + U" " + (cents == U"1" ? names[2] : names[3]);
    if (strip(whole, U"0,").empty()) return spoken;
    return whole_count(whole) + U" " + (whole == U"1" ? names[0] : names[1]) + U" and " + spoken;
}

Text per_unit(View written) {
    Text unit = unit_name(written);
    return unit.empty() ? Text(periods().get(written)) : unit;
}

// Returns what follows a unit: per second squared.
Text per_of(const Match &found) {
    if (!found.has("per")) return {};
    View power = found["power"];
    Text times = power.empty() ? U"" : contains(U"2²", power.back()) ? U" squared" : U" cubed";
    return U" per " + per_unit(found["per"]) + times;
}

Text mixed_number(View whole, View above, View below) {
    Text spoken = fraction(above, below);
    if (whole.empty()) return spoken;
    return cardinal(whole) + U" and " + (spoken == U"one half" ? Text(U"a half") : spoken);
}

// Returns the unit after a fraction: half a pound, but two and a half pounds.
Text unit_after(const Match &found, View whole) {
    Text unit = found.has("unit") ? unit_name(found["unit"]) : Text();
    return unit.empty() ? unit : U" " + (whole.empty() ? unit : several(unit));
}

Text year_or_count(View written) {
    return written.size() == 4 && is_decimal(written) ? year(written) : decimal(written);
}

}  // namespace

Spoken money(const Match &found, bool) {
    static const Table currencies(tables::CURRENCIES), countries(tables::COUNTRIES);
    Row names = *currencies.row(found["sign"]);
    View country = found.has("country") ? countries.get(found["country"]) : View();
    if (!country.empty()) {
        names[0] = Text(country) + U" " + names[0];
        names[1] = Text(country) + U" " + names[1];
    }
    View amount = found["amount"], scale = found["scale"];
    Text spoken;
    if (found.has("end")) {
        // The scale is that of both numbers.
        Text both = scale.empty() ? Text() : U" " + Text(scales().get(scale));
        spoken = decimal(amount) + U" to " + decimal(found["end"]) + both + U" " + names[1];
    } else {
        bool single = (!scale.empty() || !contains(amount, U'.')) && before_noun(found);
        spoken = amount_of(amount, scale, {names[0], names[single ? 0 : 1], names[2], names[3]});
    }
    if (found.has("period")) spoken += U" per " + Text(periods().get(found["period"]));
    if (found.has("minus")) spoken = U"minus " + spoken;
    return found.has("dash") ? spoken + U" to" : spoken;
}

Spoken coded_money(const Match &found, bool british) {
    static const Table codes(tables::CURRENCY_CODES);
    if (found.has("sign")) return money(found, british);
    Row names = *codes.row(found["code"]);
    bool pounds = found["code"] == U"GBP";
    names.insert(names.end(), {pounds ? U"penny" : U"cent", pounds ? U"pence" : U"cents"});
    return amount_of(found["amount"], found["scale"], names);
}

Spoken measure(const Match &found, bool) {
    View number = found["number"], unit = found["unit"];
    Text name = unit_name(unit), spoken = decimal(number);
    if (found.has("end")) spoken += U" to " + decimal(found["end"]);
    for (const char *by : {"by", "and_by"}) {
        if (found.has(by)) spoken += U" by " + decimal(found[by]);
    }
    if (found.has("scale")) spoken += U" " + Text(found["scale"]);
    bool alone = !found.has("end") && !found.has("by") && !found.has("scale");
    bool single = (strip_start(number, U"-−+") == U"1" && alone) ||
                  // A 5-kilometer run.
                  found["hyphen"] == U"-" || before_noun(found);
    // Bits come by thousands, interest does not.
    if (unit == U"bps" && number.size() < 4) name = U"basis point";
    return spoken + U" " + (single ? name : several(name)) + per_of(found);
}

Text unit_alone(const Match &found) { return several(unit_name(found["unit"])) + per_of(found); }

Spoken per(const Match &found, bool) { return decimal(found["number"]) + U" per " + per_unit(found["per"]); }

Spoken feet(const Match &found, bool) {
    View feet = found["feet"], inches = found.has("inches") ? found["inches"] : found["in"];
    bool one = feet == U"1" || (inches.empty() && before_noun(found));
    return cardinal(feet) + (one ? U" foot" : U" feet") + (inches.empty() ? U"" : U" " + cardinal(inches));
}

Spoken angle(const Match &found, bool) {
    std::vector<Text> parts;
    for (const char *unit : {"degrees", "minutes", "seconds"}) {
        View number = found[unit];
        if (number.empty()) continue;
        Text name(unit, unit + std::char_traits<char>::length(unit) - (number == U"1"));
        parts.push_back(decimal(number) + U" " + name);
    }
    return join(parts, U" ");
}

Spoken inches(const Match &found, bool) {
    bool single = found["inches"] == U"1" || before_noun(found);
    return decimal(found["inches"]) + (single ? U" inch" : U" inches");
}

Spoken mixed(const Match &found, bool) {
    View whole = found["whole"], above = found["above"], below = found["below"];
    View century = above.substr(0, 2);
    // The number of an invoice, 2024/117.
    if (whole.empty() && above.size() == 4 && below.size() > 2 && (century == U"19" || century == U"20"))
        return {};
    if (found.has("unit") && found["unit"] == U"mmHg") {
        return cardinal(above) + U" over " + cardinal(below) + U" " + several(unit_name(U"mmHg"));
    }
    return mixed_number(whole, above, below) + unit_after(found, whole);
}

Spoken vulgar(const Match &found, bool) {
    static const View SIGNS = U"¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞↉";
    static const char *const PARTS[] = {"1/4", "1/2", "3/4", "1/7", "1/9", "1/10", "1/3", "2/3", "1/5", "2/5",
                                        "3/5", "4/5", "1/6", "5/6", "1/8", "3/8",  "5/8", "7/8", "0/3"};
    std::string parts = PARTS[SIGNS.find(found["fraction"][0])];
    Text above(1, parts[0]), below(parts.begin() + 2, parts.end());
    View whole = strip(found["whole"]);
    return mixed_number(whole, above, below) + unit_after(found, whole);
}

Spoken count(const Match &found, bool) {
    return decimal(found["number"]) + U" " + Text(scales().get(found["scale"]));
}

Spoken out_of(const Match &found, bool) {
    return decimal(found["number"]) + U" out of " + cardinal(found["most"]);
}

namespace {

// Returns the value of digits, commas and a point.
double value(View written) {
    std::string digits;
    for (char32_t letter : without(written, U',')) {
        digits += letter == '.' ? '.' : static_cast<char>('0' + digit_value(letter));
    }
    double value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
}

}  // namespace

Spoken number_range(const Match &found, bool) {
    View start = found["start"], end = found["end"];
    bool hundreds = start.substr(1) == U"00" && tail(end, 2) == U"00";
    if (start.size() == 3 && end.size() == 4 && start[0] > '1' && !hundreds)
        return digits(start) + U" " + digits(end);
    if (start.size() == 4 && (end.size() == 4 || (end.size() == 2 && end > start.substr(2)))) {
        return year_or_count(start) + U" to " + year_or_count(end);
    }
    bool dashed = contains(U"-–", found["dash"]);
    bool score = dashed && is_decimal(start) && is_decimal(end) && value(start) < 200;
    if ((value(start) < value(end) || score) && !(start[0] == '0' && start.size() > 1)) {
        return decimal(start) + U" to " + decimal(end);
    }
    return {};
}

Spoken years(const Match &found, bool) {
    View start = found["start"], end = found["end"];
    if (!ends_with(written(value_of(start) + 1), end)) return {};
    return year(start) + U" " + short_year(end);
}

Spoken ratio(const Match &found, bool) {
    static const Pattern book(kokoro::tables::amounts::BOOK);
    Match before;
    size_t start = found.start();
    bool verse = book.search(found.text(), start > 20 ? start - 20 : 0, start, before);
    return cardinal(found["start"]) + (verse ? U" " : U" to ") + cardinal(found["end"]);
}

Spoken by(const Match &found, bool) {
    Text between = found.has("equals") ? U" times " : U" by ";
    Text spoken = decimal(found["start"]) + between + decimal(found["end"]);
    return found.has("third") ? spoken + between + decimal(found["third"]) : spoken;
}

Spoken digit_groups(const Match &found, bool) {
    static const Pattern group(kokoro::tables::amounts::GROUP);
    std::vector<Text> spoken;
    for (View each : group.find_all(found[0])) {
        if (each == U"+") {
            spoken.push_back(U"plus");
        } else if (is_decimal(each)) {
            spoken.push_back(each == U"800" ? U"eight hundred" : digits(each));
        } else {
            // Letters that may be a word: FLOWERS.
            bool word = each.size() > 2 && each.find_first_of(U"AEIOUY", 1) != View::npos;
            spoken.push_back(word ? lower(each) : each.size() > 2 ? Text(each) : spaced(each));
        }
    }
    return join(spoken, U" ");
}

}  // namespace kokoro::text::amounts
