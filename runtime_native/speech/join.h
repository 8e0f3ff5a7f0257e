// Joins renderings of neighbouring pieces: at a quiet point, in phase, without a step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace kokoro {

constexpr size_t HALF_FADE = 300;      // half of a crossfade, 12.5 ms
constexpr size_t LARGEST_SHIFT = 200;  // 8 ms: the most by which a rendering is moved to be in phase

// A part of a rendering: its own samples, and those of its neighbours on both sides. All numbers count samples of the
// rendering.
struct Part {
    std::shared_ptr<const std::vector<float>> samples;  // the whole rendering
    size_t start;       // of the part's first token; 0 at the beginning of a passage
    size_t end;         // of its last token; the rendering's end at the end of a passage
    size_t gap_before;  // samples before `start` that belong to spaces and punctuation
    size_t gap_after;   // samples before `end` that belong to spaces and punctuation
    size_t pause = 0;   // samples of silence to add behind it
    size_t phoneme = 0;  // offset in the passage of the part's first phoneme
};

// Lays parts on one time line and gives out the samples that no later part can change.
class Joiner {
public:
    // Takes the samples of silence behind the speech; none leaves the silence at both ends as it is.
    explicit Joiner(std::optional<size_t> end_silence) : end_silence_(end_silence) {}

    // Joins a part to the ones before. Returns the position of the first sample of its rendering, heard or not.
    int64_t add(Part part);

    // Returns the samples that are final; all of them if no part will follow.
    std::vector<float> take(bool last);

    size_t taken() const { return taken_; }      // samples of the output that were taken
    size_t trimmed() const { return trimmed_; }  // left out at the beginning; known after the first `take`

private:
    int64_t join(const Part &left, const Part &part);
    int64_t set_apart(size_t cut, const Part &part, size_t right, size_t silence);
    int64_t crossfade_at(size_t cut, const Part &part, size_t right);

    void trim(std::vector<float> &taken, bool first, bool last);

    std::optional<size_t> end_silence_;
    double loudest_ = 0;  // greatest level of what was taken
    size_t taken_ = 0;
    size_t trimmed_ = 0;
    size_t begin_ = 0;         // position of the first sample that is kept
    std::vector<float> kept_;  // the samples from there on, into the neighbour of the last part
    std::optional<Part> last_;
    size_t border_ = 0;  // position at which the last part ends
};

// Returns the distance before the border at which both renderings are quietest, from 0 to `room`. Both sides have
// `room + 2 * HALF_FADE` samples, the border `HALF_FADE` before their end.
size_t quietest(const float *left, const float *right, size_t room);

// Returns which of `number` places of `samples`, the first one and those `step` apart behind it, begins the `count`
// samples that correlate best with those of `left`.
size_t best_place(const float *left, const float *samples, size_t first, size_t step, size_t number, size_t count);

// Returns by how many samples to read `right` later so that it correlates best with the `2 * HALF_FADE` samples of
// `left`. `right` has `count` samples and begins LARGEST_SHIFT samples before the place that belongs to `left`.
int64_t best_shift(const float *left, const float *right, size_t count);

// Fades from `left` to `right`, both of `count` samples, with gains that keep the power.
std::vector<float> crossfade(const float *left, const float *right, size_t count = 2 * HALF_FADE);

}  // namespace kokoro
