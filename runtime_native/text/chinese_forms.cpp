#include "chinese_forms.h"

#include <vector>

#include "../base/strings.h"
#include "../generated/tables.h"

namespace kokoro::text::chinese {

namespace {

namespace forms = kokoro::tables::chinese_forms;

constexpr View DIGITS = U"零一二三四五六七八九", PHONE_DIGITS = U"零幺二三四五六七八九";
constexpr size_t MOST_DIGITS = 16, LONGEST_AMOUNT = 9;
constexpr std::pair<long long, char32_t> SCALES[] = {
    {100'000'000, U'亿'}, {10'000, U'万'}, {1'000, U'千'}, {100, U'百'}, {10, U'十'}};

Text one_by_one(View digits, View names = DIGITS) {
    Text said;
    for (char32_t digit : digits) {
        if (digit >= '0' && digit <= '9') said += names[digit - '0'];
    }
    return said;
}

Text counted(long long value) {
    for (auto [size, scale] : SCALES) {
        if (value < size) continue;
        long long high = value / size, low = value % size;
        Text said = counted(high) + scale;
        if (low && low < size / 10) said += U'零';
        return low ? said + counted(low) : said;
    }
    return Text(1, DIGITS[static_cast<size_t>(value)]);
}

Text cardinal(View digits) {
    Text said = counted(value_of(digits));
    if (starts_with(said, U"一十")) return said.substr(1);
    if (said.size() > 1 && said[0] == U'二' && contains(U"千万亿", said[1])) said[0] = U'两';
    return said;
}

// Returns a number in digits as it is read; one that is too long or begins with zeros, digit by digit.
Text number(View written) {
    Text plain = without(written, U',');
    size_t point = plain.find(U'.');
    View whole = View(plain).substr(0, point);
    bool apart = whole.size() > MOST_DIGITS || (whole.size() > 1 && whole[0] == '0');
    // A number of an account, not an amount.
    apart = apart || (whole.size() > LONGEST_AMOUNT && written == whole && !ends_with(whole, U"000"));
    Text said = apart ? one_by_one(whole) : cardinal(whole);
    return point == Text::npos ? said : said + U"点" + one_by_one(tail(plain, point + 1));
}

Text minute(View written) {
    if (written == U"00") return {};
    return written[0] == '0' ? U"零" + number(written.substr(1)) + U"分" : number(written) + U"分";
}

// Returns the number of a model: 15 is a number, 919 and 4090 are digits, 100 is a number.
Text model(View written) {
    return written.size() < 3 || ends_with(written, U"00") ? number(written) : one_by_one(written);
}

Text version(View written) {
    std::vector<Text> parts;
    for (View part : split(written, U'.')) parts.push_back(model(part));
    return join(parts, U"点");
}

// Returns how a part of a written form is said.
Text said(char32_t kind, View written) {
    static const Table currencies(forms::CURRENCIES), units(forms::UNITS);
    switch (kind) {
        case 'c': return Text(currencies.get(written));
        case 'd': return one_by_one(written);
        case 'h': return strip_start(written, U"0") == U"2" ? Text(U"两") : cardinal(written);
        case 'm': return minute(written);
        case 'n': return number(written);
        case 'p': return one_by_one(written, PHONE_DIGITS);
        case 'q': return written == U"2" ? Text(U"两") : number(written);
        case 'r': return model(written);
        case 'u': return Text(units.get(written));
        case 'x': return version(written);
        default: return Text(written);
    }
}

}  // namespace

const SegmentedForms &forms() {
    static const SegmentedForms known(forms::FORMS_PATTERNS, forms::FORMS, forms::BEGINNINGS, forms::SIGNS, said);
    return known;
}

}  // namespace kokoro::text::chinese
