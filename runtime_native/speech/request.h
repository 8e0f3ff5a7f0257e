// Checks requests, and plans how to speak them; nothing is computed here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "../model/utterance.h"
#include "split.h"
#include "words.h"

namespace kokoro {

constexpr size_t LARGEST_PIECE = 250;  // phonemes: larger pieces need more memory, and kokoro rushes beyond 400
constexpr size_t CONTEXT = 100;        // most phonemes of each neighbour that are read too
constexpr size_t LOOKAHEAD = 40;       // phonemes after an opening's piece that are read with it

// The voices, phonemes and lengths that a bundle can speak.
struct Capabilities {
    // Returns a voice's style for an input of so many phonemes. Throws UNKNOWN_VOICE_ERROR or BLEND_ERROR.
    std::function<Style(const std::string &voice, size_t phonemes)> style;
    std::set<char32_t> vocabulary;
    size_t max_phonemes;  // most phonemes of one utterance
    // Returns the factor that brings a voice to a loudness in LUFS. Throws NO_LOUDNESS_ERROR.
    std::function<float(const std::string &voice, double loudness)> gain;
    // Returns the statistics of a voice, or none if they are not known. Throws errors of their files.
    std::function<std::shared_ptr<const Statistics>(const std::string &voice)> statistics;
};

// A caller's request, not checked yet. `kokoro_request` describes the fields.
struct Request {
    std::vector<Segment> segments;
    std::string voice;
    double speed = 1;
    uint64_t seed = 0;
    double sentence_pause = 0;
    double clause_pause = 0;
    bool trim = false;
    double end_pause = 0;
    std::optional<double> loudness;
    bool stretch = true;
    bool one_pass = false;
    bool ends_segment = false;  // the next part of the speech is another segment
    std::optional<Link> link = {};   // of a part of a text that arrives bit by bit
};

// How the first piece of a stream is read before the rest, to be heard at once.
struct Opening {
    size_t end;     // offset in the passage up to which the model reads
    size_t spoken;  // offset up to which it is spoken so
    Style style;    // its prosody is that of a little more than `end` phonemes
};

// A passage that is ready to be spoken, or one without phonemes, whose words are left out.
struct Section {
    Passage passage;
    Breaks breaks;
    std::vector<size_t> piece_ends;  // offsets in the passage
    Style style;
    double speed;
    uint64_t seed;
    bool stretch;  // speak to the length that the speed promises; false leaves the speed to the model
    std::optional<float> gain;
    std::optional<Opening> opening;  // none reads all of the passage before its first piece
    std::optional<Link> link;        // of a part of a text that arrives bit by bit
    // Those of the voice, for the parts that the decoder sees; none has it take those of each part.
    std::shared_ptr<const Statistics> statistics;

    // Offsets of the first phoneme that is spoken, and behind the last one.
    size_t start() const { return link && !passage.phonemes.empty() ? link->before.size() : 0; }
    size_t end() const { return piece_ends.empty() ? 0 : piece_ends.back(); }
    // The next section goes on where this one ends.
    bool is_open() const { return link && link->is_open; }
};

// A checked request, divided into sections and pieces.
struct SpeechPlan {
    std::vector<Section> sections;
    size_t max_phonemes;
    double sentence_pause;
    double clause_pause;
    bool trim;
    double end_pause;

    // Returns the seconds of silence to add after a kind of break.
    double pause_after(Break kind) const {
        return kind == Break::SENTENCE ? sentence_pause : kind == Break::CLAUSE ? clause_pause : 0;
    }
};

// Gives the parts of a request one by one, more than one for a long text.
using NextRequest = std::function<std::optional<Request>()>;

// Plans the parts of one speech, one after another.
class Planner {
public:
    // With `whole`, what fits into one utterance stays in one piece; otherwise the first piece is short.
    Planner(Capabilities capabilities, bool whole) : capabilities_(std::move(capabilities)), whole_(whole) {}

    // Returns the plan of the next part, or none as long as there are no phonemes. Throws errors of usage and of the
    // input.
    std::optional<SpeechPlan> plan(Request request);
    // Checks that something was planned. Throws EMPTY_INPUT_ERROR.
    void end() const;
    // Checks all of a request but its text, which is still to come. Throws errors of usage.
    void check_manner(const Request &request) const;

private:
    SpeechPlan plan_speech(const Request &request);
    Section section(const Request &request, Passage passage, bool ended);
    std::optional<Opening> opening(const Passage &passage, const Breaks &breaks, size_t first_end,
                                   const std::string &voice, const Style &style) const;

    Capabilities capabilities_;
    bool whole_;
    size_t phonemes_before_ = 0;
    size_t text_before_ = 0;
    std::u32string context_;       // with which the next part is read
    std::vector<Section> silent_;  // sections before the first phoneme
};

// The plans of a speech whose input comes in parts.
class Plans {
public:
    Plans(Capabilities capabilities, NextRequest requests, bool whole)
        : planner_(std::move(capabilities), whole), requests_(std::move(requests)) {}

    // Returns the next part's plan, or none after the last. Throws what the planner throws.
    std::optional<SpeechPlan> next();

private:
    Planner planner_;
    NextRequest requests_;
};

// Throws EMPTY_INPUT_ERROR for a text without anything to speak.
[[noreturn]] void refuse_empty(std::u32string_view text);

// Throw UNKNOWN_PHONEMES_ERROR, SPEED_ERROR, PAUSE_ERROR or LOUDNESS_ERROR.
void check_phonemes(const Passage &passage, const std::set<char32_t> &vocabulary);
double check_speed(double speed);
double check_pause(double seconds);
double check_loudness(double loudness);

// Returns the seed of the piece whose first phoneme is `first` phonemes after those of `seed`.
uint64_t piece_seed(uint64_t seed, size_t first);

}  // namespace kokoro
