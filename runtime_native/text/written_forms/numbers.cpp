#include "numbers.h"

#include "../../base/strings.h"
#include "../../generated/tables.h"

namespace kokoro::text::numbers {

namespace {

const std::vector<Text> ones = list(tables::numbers::ONES), tens = list(tables::numbers::TENS),
                        scales = list(tables::numbers::SCALES);
const size_t LONGEST_CARDINAL = 3 * scales.size();  // digits; longer numbers are said digit by digit

// Returns a number below a thousand in words.
Text below_thousand(int number) {
    if (number < 20) return ones[number];
    Text words = number < 100 ? tens[number / 10] : ones[number / 100] + U" hundred";
    int rest = number < 100 ? number % 10 : number % 100;
    return rest ? words + U" " + below_thousand(rest) : words;
}

// Returns digits as a number in words.
Text count(View digits) {
    Text words;
    for (size_t left = digits.size(); left;) {
        size_t size = (left - 1) % 3 + 1;
        int group = value_of(digits.substr(digits.size() - left, size));
        left -= size;
        if (!group) continue;
        if (!words.empty()) words += U' ';
        words += below_thousand(group);
        if (left) words += U' ', words += scales[left / 3];
    }
    return words.empty() ? ones[0] : words;
}

Text as_roman(int number) {
    static const std::pair<int, View> SIGNS[] = {
        {1000, U"M"}, {900, U"CM"}, {500, U"D"}, {400, U"CD"}, {100, U"C"}, {90, U"XC"}, {50, U"L"},
        {40, U"XL"},  {10, U"X"},   {9, U"IX"},  {5, U"V"},    {4, U"IV"},  {1, U"I"}};
    Text written;
    for (auto [value, letters] : SIGNS) {
        for (; number >= value; number -= value) written += letters;
    }
    return written;
}

}  // namespace

Text written(int value) {
    std::string digits = std::to_string(value);
    return Text(digits.begin(), digits.end());
}

Text digits(View written, View zero) {
    Text words;
    for (char32_t digit : written) {
        if (!is_decimal(digit)) continue;
        if (!words.empty()) words += U' ';
        words += digit == '0' ? Text(zero) : ones[digit_value(digit)];
    }
    return words;
}

Text cardinal(View written) {
    Text plain = without(written, U',');
    bool apart = plain.size() > LONGEST_CARDINAL || (plain[0] == '0' && plain.size() > 1);
    return apart ? digits(plain) : count(plain);
}

Text ordinal(View written) {
    Text plain = without(written, U',');
    size_t excess = plain.size() > LONGEST_CARDINAL ? plain.size() - LONGEST_CARDINAL : 0;
    return as_ordinal(count(View(plain).substr(excess)));
}

Text as_ordinal(View words) {
    static const Table ordinals(tables::numbers::ORDINALS);
    size_t start = words.rfind(U' ') + 1;
    View last = words.substr(start);
    Text before(words.substr(0, start));
    if (const Text *found = ordinals.find(last)) return before + *found;
    if (ends_with(last, U"y")) return before + Text(last.substr(0, last.size() - 1)) + U"ieth";
    return before + Text(last) + U"th";
}

Text year(View written) {
    int number = value_of(written), high = number / 100, low = number % 100;
    if (high % 10 == 0 && low < 10) return count(numbers::written(number));
    Text words = below_thousand(high) + U" ";
    return words + (!low ? U"hundred" : low < 10 ? U"oh " + ones[low] : below_thousand(low));
}

Text short_year(View written) {
    if (written.size() == 4) return year(written);
    if (written.size() == 3 && written.substr(1) != U"00") {
        return digits(written.substr(0, 1)) + U" " + short_year(written.substr(1));
    }
    return written[0] == '0' ? digits(written, U"oh") : cardinal(written);
}

Text decimal(View written) {
    View sign = written.substr(0, 1);
    if (sign == U"-" || sign == U"−") return U"minus " + decimal(written.substr(1));
    if (sign == U"+") return U"plus " + decimal(written.substr(1));
    size_t point = written.find(U'.');
    View whole = written.substr(0, point);
    Text words = whole.empty() ? Text() : cardinal(whole);
    return point == View::npos ? words : Text(strip(words + U" point " + digits(written.substr(point + 1))));
}

Text plural(View word) {
    Text stem(word.substr(0, word.size() - !word.empty()));
    if (ends_with(word, U"half")) return stem + U"ves";
    return ends_with(word, U"y") ? stem + U"ies" : Text(word) + (ends_with(word, U"x") ? U"es" : U"s");
}

Text fraction(View numerator, View denominator) {
    Text above = cardinal(numerator), below = cardinal(denominator);
    View significant = strip_start(denominator, U"0");
    if (significant.empty() || significant == U"1") return above + U" over " + below;
    Text part = denominator == U"2" ? U"half" : denominator == U"4" ? U"quarter" : ordinal(denominator);
    return above + U" " + (numerator == U"1" ? part : plural(part));
}

std::optional<int> roman(View written) {
    static const View LETTERS = U"IVXLCDM";
    static const int VALUES[] = {1, 5, 10, 50, 100, 500, 1000};
    auto value_at = [&](size_t place) {
        size_t found = place < written.size() ? LETTERS.find(written[place]) : View::npos;
        return found == View::npos ? 0 : VALUES[found];
    };
    int total = 0;
    for (size_t place = 0; place < written.size(); place++) {
        int value = value_at(place);
        total += value < value_at(place + 1) ? -value : value;
    }
    return total > 0 && as_roman(total) == written ? std::optional<int>(total) : std::nullopt;
}

Text with_flags(View words, View flags) {
    static const Words small(tables::numbers::SMALL), large(tables::numbers::LARGE);
    std::vector<View> parts = split(words, U' ');
    std::vector<Text> spoken;
    for (size_t place = 0; place < parts.size(); place++) {
        spoken.emplace_back(parts[place]);
        size_t rest = place + 1;
        while (rest < parts.size() && rest < place + 3 && small.has(parts[rest])) rest++;
        View after = rest < parts.size() ? parts[rest] : View();
        if (rest > place + 1 &&
            (parts[place] == U"hundred" || (large.has(parts[place]) && !large.has(after)))) {
            if (contains(flags, U'&')) {
                spoken.emplace_back(U"and");
            } else if (contains(flags, U'n')) {
                spoken.emplace_back(U"ən");
            }
        }
    }
    if (contains(flags, U'a') && spoken[0] == U"one" && spoken.size() > 1 && large.has(spoken[1]))
        spoken[0] = U"ə";
    return join(spoken, U" ");
}

}  // namespace kokoro::text::numbers
