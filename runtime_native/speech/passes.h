// What the model reads at once, and what part of it the decoder sees for a piece. runtime_min/speech/passes.py has the
// reasons.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "request.h"

namespace kokoro {

// Start and end of a piece.
using Span = std::pair<size_t, size_t>;

// Phonemes that the model reads at once; offsets are those of the passage.
struct Pass {
    size_t start;
    size_t end;
    std::vector<Span> pieces;  // those that are spoken of it
    const Style *style;
    bool is_opening = false;
};

// The tokens of a pass from `first` to before `last`, which the decoder sees for a piece.
struct Window {
    size_t first;
    size_t last;
    float gain;  // factor of the samples, which brings them to the level of the whole pass
    bool of_voice = false;  // the decoder takes the statistics of the voice in place of the window's
};

// Returns the passes of a section in order: one within `limit`, more with context otherwise, and first the opening.
std::vector<Pass> find_passes(const Section &section, size_t limit);

// Returns two passes for one that is too long, or the one phoneme alone.
std::vector<Pass> smaller_passes(const Section &section, const Pass &large, size_t limit);

// Returns the window of a piece: with the statistics of the voice, the piece and few frames beside it. Otherwise it is
// the one whose energy is nearest to that of the pass, in few frames.
Window find_window(const Prepared &prepared, const Pass &read, Span piece);

}  // namespace kokoro
