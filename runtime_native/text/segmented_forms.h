// Written forms of languages without spaces: patterns, and what is said in place of what they match.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "../base/pattern.h"
#include "../base/strings.h"

namespace kokoro::text {

// The forms of a language, of which the first that fits is taken.
class SegmentedForms {
public:
    // Returns how a part of a written form is said, by the letter of its kind.
    using Said = std::function<Text(char32_t kind, View written)>;

    // Takes the tables of `generated/tables.h`.
    SegmentedForms(const unsigned char *programs, const char *spoken, const char *beginnings, const char *signs,
                   Said said);

    // Returns the end of a written form that starts at a place, and what is said.
    std::optional<std::pair<size_t, Text>> find(View text, size_t start, size_t end) const;

private:
    Text filled(View spoken, const Match &found) const;

    std::vector<std::pair<Pattern, Text>> forms_;
    Text beginnings_;
    Table signs_;
    Said said_;
};

}  // namespace kokoro::text
