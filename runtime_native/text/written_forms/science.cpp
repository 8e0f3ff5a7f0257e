// Chemical formulas, powers, numbers such as 6.02e23, and Greek letters.
#include "../../base/strings.h"
#include "../../generated/tables.h"
#include "forms.h"
#include "numbers.h"

namespace kokoro::text::science {

namespace {

using namespace numbers;

// Returns a text with digits and signs of full size in place of low and high ones.
Text plain(View written) {
    static const View SMALL = U"₀₁₂₃₄₅₆₇₈₉⁰¹²³⁴⁵⁶⁷⁸⁹⁻−";
    static const View LARGE = U"01234567890123456789--";
    Text result(written);
    for (char32_t &letter : result) {
        size_t place = SMALL.find(letter);
        if (place != View::npos) letter = LARGE[place];
    }
    return result;
}

Text exponent(View number) {
    return number == U"2" ? U"squared" : number == U"3" ? U"cubed" : U"to the power of " + decimal(number);
}

}  // namespace

Spoken formula(const Match &found, bool) {
    static const Pattern part(tables::science::PART);
    std::vector<Text> spoken;
    for (View each : part.find_all(found[0])) {
        spoken.push_back(is_alpha(each) ? upper(each) : cardinal(plain(each)));
    }
    return join(spoken, U" ");
}

Spoken power(const Match &found, bool) {
    static const Pattern base(tables::science::BASE);
    Text number = plain(found.has("high") ? found["high"] : found["low"]);
    size_t start = found.start();
    Match before;
    if (found.has("charge")) {
        return decimal(number.substr(0, number.size() - 1)) +
               (found["charge"] == U"⁺" ? U" plus" : U" minus");
    }
    if (found.has("high") && !base.search(found.text(), start > 4 ? start - 4 : 0, start, before))
        return decimal(number);
    return exponent(number);
}

Spoken power_with_unit(const Match &found, bool) {
    return exponent(plain(found["high"])) + U" " + amounts::unit_alone(found);
}

Spoken scientific(const Match &found, bool) {
    return decimal(found["number"]) + U" times ten to the power of " + decimal(found["power"]);
}

Spoken letter(const Match &found, bool) { return replaced(letter_name(found[0][0]), U"lamda", U"lambda"); }

}  // namespace kokoro::text::science
