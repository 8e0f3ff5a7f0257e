// Speech of any length: synthesise each piece with context, join the pieces, time the phonemes. FORMAT.md ("Speech of
// any length") has the rules; runtime_min/speech/speak.py draws the systems of offsets.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "join.h"
#include "request.h"
#include "timing.h"

namespace kokoro {

// Computes an utterance. Throws UTTERANCE_TOO_LONG_ERROR if it exceeds the largest bucket of frames.
using Synthesise = std::function<Spoken(const Utterance &)>;

// A part of a passage that is synthesised at once; all four are offsets in the passage.
struct Piece {
    size_t context_start;
    size_t start;
    size_t end;
    size_t context_end;
};

// A speech, piece by piece.
class Speech {
public:
    Speech(Plans plans, Synthesise synthesise);

    // Returns the audio of the next piece, or none after the last. Throws what the plans and the synthesis throw.
    std::optional<Audio> next();

    // Returns the phonemes of each piece of the first part.
    const std::vector<size_t> &lengths() const { return lengths_; }

private:
    struct Rendering;

    bool begin_section();
    std::optional<Section> take_section();
    Rendering render();
    Rendering rendering(const Piece &piece, Spoken spoken, double speed) const;
    Piece with_context(size_t start, size_t end) const;
    std::vector<Piece> smaller(const Piece &piece) const;
    std::vector<Part> parts(const Rendering &rendering) const;

    Plans plans_;
    Synthesise synthesise_;
    SpeechPlan plan_;  // without the sections, which are upcoming
    std::vector<size_t> lengths_;
    std::vector<Section> upcoming_;  // in reverse
    std::optional<Section> ahead_;   // first section after the one that is spoken
    Joiner joiner_;
    Section section_;
    bool last_section_ = false;
    std::vector<Piece> waiting_;  // pieces of the section, in reverse
    std::optional<Clock> clock_;
};

}  // namespace kokoro
