#include "number_words.h"

#include <algorithm>

#include "../base/strings.h"
#include "rewriting.h"

namespace kokoro::text {

namespace {

constexpr size_t MOST_NUMBER_WORDS = 65536;
constexpr std::pair<int64_t, View> ROMAN_VALUES[] = {
    {1000, U"m"}, {900, U"cm"}, {500, U"d"}, {400, U"cd"}, {100, U"c"}, {90, U"xc"}, {50, U"l"},
    {40, U"xl"},  {10, U"x"},   {9, U"ix"},  {5, U"v"},    {4, U"iv"},  {1, U"i"}};

Text roman(int64_t value) {
    Text letters;
    for (const auto &[own, sign] : ROMAN_VALUES) {
        for (; value >= own; value -= own) letters += sign;
    }
    return letters;
}

}  // namespace

Numbers::Numbers(const Node &node, size_t count) {
    std::vector<Node> parts = node.elements(4, 4, [](const Node &each) { return each; });
    bases_ = parts[0].elements(1, MOST_NUMBER_WORDS, [](const Node &each) { return each.integer(0, LARGEST_NUMBER); });
    auto read = [&](const Node &each) { return places_in(each, 2 * count); };
    with_rest_ = parts[1].elements(0, MOST_NUMBER_WORDS, read);
    without_ = parts[2].elements(0, MOST_NUMBER_WORDS, read);
    std::vector<Text> ending = parts[3].elements(2, 2, text_of);
    ending_ = ending[0];
    other_ending_ = ending[1];
    bool ascending = std::adjacent_find(bases_.begin(), bases_.end(), std::greater_equal<>()) == bases_.end();
    bool fit = with_rest_.size() == bases_.size() && without_.size() == bases_.size();
    for (size_t place = 0; fit && place < bases_.size(); place++) {
        for (const Text &text : {with_rest_[place], without_[place]}) {
            // Parts with fewer digits, and no more than two of them, so that the time is bounded.
            size_t parts[2] = {};
            for (char32_t letter : text) {
                size_t number = letter - FIRST_PLACE;
                if (letter >= FIRST_PLACE && number < 2 * count) parts[number / count]++;
            }
            fit &= std::max(parts[0], parts[1]) <= (bases_[place] >= 10);
        }
    }
    if (!ascending || !fit) refuse_manifest(node.path, "rules for numbers", "something else");
}

Text Numbers::say(int64_t number, const std::vector<Numbers> &sets) const {
    size_t index = std::upper_bound(bases_.begin(), bases_.end(), number) - bases_.begin();
    if (!index--) return {};
    int64_t divisor = 1;
    while (divisor * 10 <= bases_[index]) divisor *= 10;
    int64_t quotient = number / divisor, rest = number % divisor;
    Text words;
    for (char32_t letter : rest ? with_rest_[index] : without_[index]) {
        size_t place = letter - FIRST_PLACE;
        bool is_part = letter >= FIRST_PLACE && place < 2 * sets.size();
        words += is_part ? sets[place % sets.size()].say(place < sets.size() ? rest : quotient, sets)
                         : Text(1, letter);
    }
    if (!ending_.empty() && ends_with(words, ending_)) {
        words.replace(words.size() - ending_.size(), ending_.size(), other_ending_);
    }
    return words;
}

int64_t roman_value(View letters) {
    int64_t value = 0;
    View rest = letters;
    for (const auto &[own, sign] : ROMAN_VALUES) {
        for (; starts_with(rest, sign); rest.remove_prefix(sign.size())) value += own;
    }
    return rest.empty() && roman(value) == letters ? value : 0;
}

}  // namespace kokoro::text
