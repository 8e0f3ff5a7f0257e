// Splits long input: at ends of sentences, else of clauses, else between words.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace kokoro {

// The kind of a place where input may be split; the greater is the better place.
enum class Break : uint8_t { NONE, WORD, CLAUSE, SENTENCE };

// A stream's first piece is its first clause if that is no longer than this.
constexpr size_t FIRST_CLAUSE = 40;

// The break before every offset of the phonemes, from 0 to their number.
using Breaks = std::vector<Break>;

// Returns every place where the input may be split, with the best reason; the end of the input always is one.
// `sentences` has where sentences begin after others, if the text is known: then no mark within the input ends
// another.
Breaks find_breaks(std::u32string_view phonemes, const std::optional<std::vector<size_t>> &sentences = {});

// Returns the offsets at which the pieces end, the last of them the number of phonemes. A piece has `size`
// phonemes if possible, and at most `limit`. After `before` phonemes of the same speech, fewer than half of `size`, the
// first pieces are shorter, and the very first of a speech is short, to be heard at once.
std::vector<size_t> split(
    std::u32string_view phonemes, const Breaks &breaks, size_t limit, size_t size, size_t before);

// Returns where the first words end that are decoded alone, of a first piece up to `end`; none if all are needed.
std::optional<size_t> first_words(const Breaks &breaks, size_t end);

// Returns the wanted length of a piece after `before` phonemes, at most `size`.
size_t grown(size_t before, size_t size);

// Returns the best end of a piece of at most `size` from `start` on, or none if all are within a word.
std::optional<size_t> best_end(const Breaks &breaks, size_t start, size_t size);

}  // namespace kokoro
