#include "japanese_forms.h"

#include <vector>

#include "../base/pattern.h"
#include "../base/strings.h"
#include "../base/utf8.h"
#include "../generated/tables.h"

namespace kokoro::text::japanese {

namespace {

namespace forms = kokoro::tables::japanese_forms;

constexpr size_t MOST_DIGITS = 16, PLACES = 4;

Text one_by_one(View digits) {
    static const std::vector<Text> names = list(forms::APART);
    Text said;
    for (char32_t digit : digits) {
        if (digit >= '0' && digit <= '9') said += names[digit - '0'];
    }
    return said;
}

// Returns true if a text has one of the endings between spaces, and that ending.
std::pair<bool, View> ending_of(View text, View endings) {
    for (View each : split(endings)) {
        if (ends_with(text, each)) return {true, each};
    }
    return {false, {}};
}

// Returns a number and what it counts, with the changes of sounds between them.
Text joined(Text said, View kind, View reading) {
    static const Table kinds(forms::KINDS), geminate(forms::GEMINATE), voiced(forms::VOICED);
    static const Table half_voiced(forms::HALF_VOICED);
    const Row *row = kinds.row(kind);
    if (!row) {
        for (View pair : split(kind, U',')) {
            std::vector<View> sides = split(pair, U'=');
            if (sides.size() < 2 || !ends_with(said, sides[0])) continue;
            return said.substr(0, said.size() - sides[0].size()) + Text(sides[1]) + Text(reading);
        }
        return said + Text(reading);
    }
    View first = reading.substr(0, 1);
    if (ending_of(said, (*row)[1]).first) {
        first = half_voiced.get(first);
    } else if (ending_of(said, (*row)[2]).first) {
        first = voiced.get(first);
    }
    auto [is_geminated, end] = ending_of(said, (*row)[0]);
    Text number = said;
    if (is_geminated) number = said.substr(0, said.size() - end.size()) + Text(geminate.get(end));
    return number + Text(first) + Text(reading.substr(1));
}

Text cardinal(Text digits) {
    static const std::vector<Text> ones = list(forms::DIGITS), tens = list(forms::TENS);
    static const std::vector<Text> hundreds = list(forms::HUNDREDS), thousands = list(forms::THOUSANDS);
    static const std::vector<Row> scales = rows(forms::SCALES);
    if (strip(digits, U"0").empty()) return ones[0];
    digits.insert(0, PLACES * scales.size() - digits.size(), U'0');
    std::vector<Text> parts;
    for (size_t place = 0; place < scales.size(); place++) {
        const Row &scale = scales[scales.size() - 1 - place];
        auto digit = [&](size_t number) { return static_cast<size_t>(digits[PLACES * place + number] - '0'); };
        bool is_scaled = !scale[1].empty();
        Text said = digit(0) == 1 && is_scaled ? Text(U"イッセン") : thousands[digit(0)];
        said += hundreds[digit(1)] + tens[digit(2)] + (digit(3) ? ones[digit(3)] : Text());
        if (!said.empty()) parts.push_back(is_scaled ? joined(said, scale[0], scale[1]) : said);
    }
    return join(parts, U" ");
}

// Returns how digits, perhaps with decimals, are read with the names of their powers of ten.
Text amount(View written, View scale) {
    static const Table powers(forms::POWERS), names(forms::NAMES);
    static const size_t most = PLACES * rows(forms::SCALES).size();
    Text plain = without(written, U',');
    size_t point = plain.find(U'.');
    Text whole = plain.substr(0, point), full = whole;
    for (size_t place = 0; place < scale.size(); place++) full += powers.get(scale.substr(place, 1));
    bool is_amount = whole.empty() || whole[0] != '0' || whole.size() == 1, is_short = whole.size() <= MOST_DIGITS;
    if (is_amount && is_short && full.size() <= most && point == Text::npos) return cardinal(full);
    Text said = !is_amount || !is_short ? one_by_one(whole) : whole == U"0" ? Text(U"レー") : cardinal(whole);
    if (point != Text::npos) said += U"テン" + one_by_one(View(plain).substr(point + 1));
    for (size_t place = 0; place < scale.size(); place++) said += names.get(scale.substr(place, 1));
    return said;
}

// Returns a number as it is read, in words for each of its powers of 10,000.
Text number(View written) {
    static const Pattern part(forms::PART);
    std::vector<Text> parts;
    Match found;
    for (size_t start = 0; part.search(written, start, written.size(), found); start = found.end()) {
        parts.push_back(amount(found[1], found[2]));
    }
    return join(parts, U" ");
}

// Returns a number and what follows it.
std::pair<View, View> count(View written) {
    static const Pattern pattern(forms::COUNT);
    Match found;
    pattern.match(written, 0, written.size(), found);
    return {found[1], found[2]};
}

Text counted(View written) {
    static const Table whole(forms::WHOLE), counters(forms::COUNTERS);
    auto [digits, counter] = count(written);
    if (const Text *known = whole.find(Text(strip_start(digits, U"0")) + Text(counter))) return *known;
    const Text *row = counters.find(counter);
    if (!row) return number(digits);
    size_t space = row->find(U' ');
    return joined(number(digits), View(*row).substr(0, space), View(*row).substr(space + 1));
}

Text measured(View written) {
    static const Table units(forms::UNITS), kinds(forms::UNIT_KINDS);
    auto [digits, unit] = count(written);
    View reading = units.get(unit);
    return joined(number(digits), kinds.get(reading.substr(0, 1), U"n"), reading);
}

Text counted_by(View written, View counter) {
    View digits = strip_start(written, U"0");
    return counted(Text(digits.empty() ? U"0" : digits) + Text(counter));
}

Text telephone(View written) {
    std::vector<Text> parts;
    for (View part : split(written, U'-')) parts.push_back(one_by_one(part));
    return (written[0] == U'〒' ? U"ユービン バンゴー " : U"") + join(parts, U"ノ ");
}

Text version(View written) {
    std::vector<Text> parts;
    for (View part : split(written, U'.')) parts.push_back(number(part));
    return join(parts, U"テン");
}

// Returns how a part of a written form is said.
Text said(char32_t kind, View written) {
    static const Table currencies(forms::CURRENCIES);
    switch (kind) {
        case 'c': return Text(currencies.get(written));
        case 'd': return strip_start(written, U"0") == U"1" ? Text(U"ツイタチ") : counted_by(written, U"日");
        case 'g': return counted_by(written, U"月");
        case 'h': return counted_by(written, U"時");
        case 'k': return counted(written);
        case 'm': return written == U"00" ? Text() : counted_by(written, U"分");
        case 'n': return number(written);
        case 'p': return telephone(written);
        case 's': return counted_by(written, U"秒");
        case 'u': return measured(written);
        case 'x': return version(written);
        case 'y': return counted_by(written, U"年");
        default: return Text(written);
    }
}

}  // namespace

const SegmentedForms &forms() {
    static const SegmentedForms known(forms::FORMS_PATTERNS, forms::FORMS, forms::BEGINNINGS, forms::SIGNS, said);
    return known;
}

}  // namespace kokoro::text::japanese
