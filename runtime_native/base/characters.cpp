#include "characters.h"

#include <algorithm>
#include <iterator>

namespace kokoro {

namespace {

struct Range {
    char32_t first, last;
};

// Punctuation and separators, in ascending order.
constexpr Range GAPS[] = {
#include "../generated/gaps.inc"
};

}  // namespace

bool is_space(char32_t character) {
    if (character < 0x80) return (character >= 9 && character <= 13) || (character >= 28 && character <= 32);
    return (character >= 0x2000 && character <= 0x200A) ||
           is_one_of(character, U"\u0085\u00A0\u1680\u2028\u2029\u202F\u205F\u3000");
}

bool is_gap(char32_t character) {
    auto range = std::upper_bound(std::begin(GAPS), std::end(GAPS), character,
                                  [](char32_t wanted, const Range &range) { return wanted < range.first; });
    return range != std::begin(GAPS) && character <= range[-1].last;
}

std::u32string_view strip_start(std::u32string_view text) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    return text;
}

std::u32string_view strip_end(std::u32string_view text) {
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
}

}  // namespace kokoro
