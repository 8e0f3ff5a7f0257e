// Speech of any length: read it in passes, decode each piece in context, join the pieces, time the phonemes. FORMAT.md ("Speech of
// any length") has the rules; runtime_min/speech/speak.py draws the systems of offsets.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "join.h"
#include "passes.h"
#include "request.h"
#include "timing.h"

namespace kokoro {

// Computes an utterance up to the decoder. Throws UTTERANCE_TOO_LONG_ERROR if it exceeds the largest bucket of frames.
using Prepare = std::function<Prepared(const Utterance &)>;

// A part of a passage that is decoded at once; all are offsets in the passage.
struct Piece {
    size_t context_start;  // the token before this phoneme is the first that is decoded
    size_t start;
    size_t end;
};

// A piece as the model computes it.
struct Decoded {
    std::vector<float> samples;      // 600 for each frame
    std::vector<int64_t> durations;  // frames of each token
};

// Speaks sections one after another on one time line.
class Narrator {
public:
    // Takes the manner of the speech, and what computes it.
    Narrator(const SpeechPlan &manner, Prepare prepare);

    // Begins a section that has phonemes, after all pieces of the one before.
    void begin(Section section, bool is_last);
    // Returns the audio of the section's next piece, or none after its last. Throws what the synthesis throws.
    std::optional<Audio> next();
    // Returns the samples that are left after a section that was not known to be the last. The sections after it
    // have no phonemes.
    Audio end(const std::vector<Section> &unspoken);

private:
    struct Rendering;

    Rendering render();
    void read_pass();
    double spoken_speed() const;
    Rendering rendering(const Piece &piece, Decoded spoken) const;
    std::vector<Part> parts(const Rendering &rendering) const;

    SpeechPlan manner_;  // without sections
    Prepare prepare_;
    Joiner joiner_;
    int64_t lead_ = 0;  // samples by which speech begins earlier than its first token ends
    Section section_;
    bool is_last_ = false;
    std::vector<Pass> passes_;  // of the section, in reverse
    Pass read_{};
    Prepared prepared_;                  // what was read
    std::vector<Span> upcoming_pieces_;  // of what was read, in reverse
    std::optional<Clock> clock_;
};

// Returns the one section that has phonemes, with the unspoken words of all and the longest pause.
Section as_one(std::vector<Section> sections);

// A speech, piece by piece.
class Speech {
public:
    Speech(Plans plans, Prepare prepare);

    // Returns the audio of the next piece, or none after the last. Throws what the plans and the synthesis throw.
    std::optional<Audio> next();

    // Returns the phonemes of each piece of the first part.
    const std::vector<size_t> &lengths() const { return lengths_; }

private:
    bool begin_section();
    std::optional<Section> take_section();

    Plans plans_;
    SpeechPlan plan_;  // without the sections, which are upcoming
    std::vector<size_t> lengths_;
    std::vector<Section> upcoming_;  // in reverse
    std::optional<Section> ahead_;   // first section after the one that is spoken
    Narrator narrator_;
    bool last_section_ = false;
};

}  // namespace kokoro
