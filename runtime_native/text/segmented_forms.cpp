#include "segmented_forms.h"

#include "../base/utf8.h"

namespace kokoro::text {

SegmentedForms::SegmentedForms(const unsigned char *programs, const char *spoken, const char *beginnings,
                               const char *signs, Said said)
    : beginnings_(decode_utf8(beginnings)), signs_(signs), said_(std::move(said)) {
    for (const Row &row : rows(spoken)) {
        Pattern pattern(&programs);
        forms_.emplace_back(std::move(pattern), row[0]);
    }
}

std::optional<std::pair<size_t, Text>> SegmentedForms::find(View text, size_t start, size_t end) const {
    Match found;
    bool may_begin = contains(beginnings_, text[start]);
    for (const auto &[pattern, spoken] : forms_) {
        if (may_begin && pattern.match(text, start, end, found)) return std::pair(found.end(), filled(spoken, found));
    }
    const Text *sign = signs_.find(text.substr(start, 1));
    if (!sign) return std::nullopt;
    return std::pair(start + 1, *sign);
}

// Returns what is said, with the parts of the form in place of their slots.
Text SegmentedForms::filled(View spoken, const Match &found) const {
    Text reading;
    for (size_t place = 0; place < spoken.size(); place++) {
        if (spoken[place] != '{') {
            reading += spoken[place];
            continue;
        }
        reading += said_(spoken[place + 1], found[static_cast<int>(spoken[place + 2] - '0')]);
        place += 3;
    }
    return reading;
}

}  // namespace kokoro::text
