// Numbers of a language as words, by the rules of a bundle, and Roman numerals.
#pragma once

#include <vector>

#include "../base/unicode.h"
#include "../format/schema.h"

namespace kokoro::text {

// The largest number that the rules say.
constexpr int64_t LARGEST_NUMBER = 999'999'999'999;

// Rules that say numbers, each from a number on.
class Numbers {
public:
    // Takes the data and the number of all sets of rules.
    Numbers(const Node &node, size_t count);
    // Returns a number in words; nothing if no rule has it.
    Text say(int64_t number, const std::vector<Numbers> &sets) const;

private:
    std::vector<int64_t> bases_;
    std::vector<Text> with_rest_, without_;
    Text ending_, other_ending_;
};

// Returns the value of a Roman numeral in lower case, 0 if the letters are none.
int64_t roman_value(View letters);

}  // namespace kokoro::text
