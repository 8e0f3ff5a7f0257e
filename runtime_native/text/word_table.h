// Words in a table by hashes of 40 bits, and those of them that a text has.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../base/hashing.h"
#include "../base/unicode.h"

namespace kokoro::text {

constexpr size_t LONGEST_WORD = 16;  // characters

// Calls `handle` with length, place and number of each word of a table that a text has, place by place, the shortest
// words first.
template <typename Handle>
void find_words(View text, const std::vector<uint64_t> &keys, Handle handle) {
    for (size_t place = 0; place < text.size(); place++) {
        uint64_t hash = 0;
        for (size_t length = 1; length <= std::min(LONGEST_WORD, text.size() - place); length++) {
            hash = (hash + text[place + length - 1]) * MULTIPLIER;
            auto found = std::lower_bound(keys.begin(), keys.end(), hash >> 24);
            if (found != keys.end() && *found == hash >> 24) {
                handle(length, place, static_cast<size_t>(found - keys.begin()));
            }
        }
    }
}

}  // namespace kokoro::text
