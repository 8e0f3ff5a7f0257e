#include "speak.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "../base/errors.h"
#include "../model/loudness.h"
#include "../base/characters.h"
#include "stretch.h"

namespace kokoro {

namespace {

constexpr int64_t LEAD_FRAMES = 3;  // speech begins so many frames before the first boundary token ends

// Returns the samples of silence behind the speech, or none if all silence is left as it is.
std::optional<size_t> end_silence(const SpeechPlan &plan) {
    if (!plan.trim) return {};
    return size_t(std::nearbyint(SAMPLE_RATE * plan.end_pause));
}

bool is_spoken(const Section &section) { return !section.passage.phonemes.empty(); }

}  // namespace

// A piece as the model computes it, or stretched in time.
struct Narrator::Rendering {
    Piece piece;
    std::shared_ptr<const std::vector<float>> samples;
    std::vector<int64_t> durations;  // frames of each token, rounded if the samples were stretched
    std::vector<int64_t> starts;     // sample at which each token begins, and the end of the last
    int64_t lead;                    // samples by which speech begins before the first boundary token ends

    // Returns the token of the phoneme at an offset of the passage; token 0 is a boundary.
    size_t token(size_t phoneme) const { return phoneme - piece.context_start + 1; }

    // Returns the sample at which the phoneme at an offset of the passage begins.
    size_t sample(size_t phoneme) const { return size_t(starts[token(phoneme)]); }
};

Section as_one(std::vector<Section> sections) {
    Section spoken = *std::find_if(sections.begin(), sections.end(), is_spoken);
    Passage &passage = spoken.passage;
    passage.unspoken.clear();
    for (const Section &section : sections) {
        const auto &unspoken = section.passage.unspoken;
        passage.unspoken.insert(passage.unspoken.end(), unspoken.begin(), unspoken.end());
        passage.pause = std::max(passage.pause, section.passage.pause);
    }
    return spoken;
}

Speech::Speech(Plans plans, Prepare prepare)
    : plans_(std::move(plans)), plan_(*plans_.next()), narrator_(plan_, std::move(prepare)) {
    for (const Section &section : plan_.sections) {
        size_t start = 0;
        for (size_t end : section.piece_ends) lengths_.push_back(end - std::exchange(start, end));
    }
    std::move(plan_.sections.rbegin(), plan_.sections.rend(), std::back_inserter(upcoming_));
    plan_.sections.clear();
}

std::optional<Audio> Speech::next() {
    while (true) {
        if (auto piece = narrator_.next()) return piece;
        if (!begin_section()) return {};
    }
}

// Takes the next section that has phonemes, together with those without up to the next one that has some.
bool Speech::begin_section() {
    if (last_section_) return false;
    std::vector<Section> found;
    if (ahead_) found.push_back(std::move(*ahead_));
    ahead_.reset();
    while (auto section = take_section()) {
        if (is_spoken(*section) && std::any_of(found.begin(), found.end(), is_spoken)) {
            ahead_ = std::move(section);
            break;
        }
        found.push_back(std::move(*section));
    }
    last_section_ = !ahead_;
    narrator_.begin(as_one(std::move(found)), last_section_);
    return true;
}

std::optional<Section> Speech::take_section() {
    while (upcoming_.empty()) {
        std::optional<SpeechPlan> later = plans_.next();
        if (!later) return {};
        std::move(later->sections.rbegin(), later->sections.rend(), std::back_inserter(upcoming_));
    }
    Section section = std::move(upcoming_.back());
    upcoming_.pop_back();
    return section;
}

Narrator::Narrator(const SpeechPlan &manner, Prepare prepare)
    : manner_{{}, manner.max_phonemes, manner.sentence_pause, manner.clause_pause, manner.trim, manner.end_pause},
      prepare_(std::move(prepare)),
      joiner_(end_silence(manner)) {}

void Narrator::begin(Section section, bool is_last) {
    section_ = std::move(section);
    is_last_ = is_last;
    clock_.emplace(section_.passage.phonemes, section_.passage.words);
    passes_ = find_passes(section_, manner_.max_phonemes);
    std::reverse(passes_.begin(), passes_.end());
}

std::optional<Audio> Narrator::next() {
    if (passes_.empty() && upcoming_pieces_.empty()) {
        // It holds memory of the model's, which a speech whose text is still to come does not need.
        prepared_ = {};
        return {};
    }
    Rendering rendering = render();
    const Piece &piece = rendering.piece;
    const std::vector<int64_t> &durations = rendering.durations;
    const bool at_end = piece.end == section_.end();
    if (piece.start == 0) lead_ = rendering.lead;
    // Parts and their places on the time line; what is trimmed is known after the first `take`.
    std::vector<std::pair<size_t, int64_t>> placed;
    for (Part &part : parts(rendering)) {
        size_t first = part.phoneme;
        placed.emplace_back(first, joiner_.add(std::move(part)));
    }
    Audio audio;
    audio.start = double(joiner_.taken()) / SAMPLE_RATE;
    audio.samples = joiner_.take(at_end && is_last_);
    for (auto [first, place] : placed) {
        int64_t start = place - int64_t(joiner_.trimmed()) - lead_;
        clock_->place(first, piece.end, start, rendering.starts.data() + rendering.token(first));
    }
    const bool all = at_end && !section_.is_open();
    audio.durations.assign(durations.begin() + (piece.start ? rendering.token(piece.start) : 0),
                           all ? durations.end() : durations.begin() + rendering.token(piece.end));
    audio.phonemes = section_.passage.phonemes.substr(piece.start, piece.end - piece.start);
    audio.tokens = clock_->tokens(piece.start, piece.end);
    audio.words = clock_->words(piece.end);
    if (piece.start == section_.start()) audio.unspoken = section_.passage.unspoken;
    return audio;
}

Audio Narrator::end(const std::vector<Section> &unspoken) {
    Audio audio;
    audio.start = double(joiner_.taken()) / SAMPLE_RATE;
    audio.samples = joiner_.take(true);
    for (const Section &section : unspoken) {
        const auto &words = section.passage.unspoken;
        audio.unspoken.insert(audio.unspoken.end(), words.begin(), words.end());
    }
    return audio;
}

// Decodes the next piece.
Narrator::Rendering Narrator::render() {
    if (upcoming_pieces_.empty()) read_pass();
    Span span = upcoming_pieces_.back();
    upcoming_pieces_.pop_back();
    Window window = find_window(prepared_, read_, span);
    auto first = prepared_.durations.begin() + window.first, last = prepared_.durations.begin() + window.last;
    int64_t start = std::accumulate(prepared_.durations.begin(), first, int64_t{0});
    const int64_t end = std::accumulate(first, last, start);
    Decoded decoded{prepared_.decode(start, end, window.of_voice), {first, last}};
    for (float &sample : decoded.samples) sample *= window.gain;
    return rendering({read_.start + window.first, span.first, span.second}, std::move(decoded));
}

// Reads the next pass, in halves if it exceeds the largest frame bucket.
void Narrator::read_pass() {
    while (true) {
        read_ = std::move(passes_.back());
        passes_.pop_back();
        std::u32string phonemes = section_.passage.phonemes.substr(read_.start, read_.end - read_.start);
        try {
            prepared_ = prepare_({phonemes, *read_.style, spoken_speed(), piece_seed(section_.seed, read_.start),
                                  section_.stretch, section_.statistics});
            upcoming_pieces_.assign(read_.pieces.rbegin(), read_.pieces.rend());
            return;
        } catch (const Error &error) {
            if (error.code != KOKORO_UTTERANCE_TOO_LONG_ERROR || phonemes.size() == 1) throw;
        }
        std::vector<Pass> halves = smaller_passes(section_, read_, manner_.max_phonemes);
        passes_.insert(passes_.end(), halves.rbegin(), halves.rend());
    }
}

// Returns the speed of the model.
double Narrator::spoken_speed() const { return section_.stretch ? model_speed(section_.speed) : section_.speed; }

// Returns a piece as it is heard, at the speed beside that of the model. It is less fast if its own samples, or a
// neighbour's, would be fewer than a frame has: a join needs them.
Narrator::Rendering Narrator::rendering(const Piece &piece, Decoded spoken) const {
    double speed = section_.speed / spoken_speed();
    std::vector<int64_t> starts{0};
    for (int64_t frames : spoken.durations) starts.push_back(starts.back() + int64_t(SAMPLES_PER_FRAME) * frames);
    int64_t lead = int64_t(SAMPLES_PER_FRAME) * std::min(LEAD_FRAMES, spoken.durations[0]);
    int64_t count = int64_t(spoken.samples.size());
    int64_t begin = piece.start ? starts[piece.start - piece.context_start + 1] : 0;
    const bool goes_on = section_.is_open() || piece.end < section_.end();
    int64_t end = goes_on ? starts[piece.end - piece.context_start + 1] : count;
    int64_t least = count;
    for (int64_t each : {begin, end - begin, count - end})
        if (each) least = std::min(least, each);
    speed = std::min(speed, double(least) / double(SAMPLES_PER_FRAME));
    if (speed != 1) {
        spoken.samples = stretch(spoken.samples, speed);
        int64_t stretched = int64_t(spoken.samples.size());
        for (int64_t &start : starts) start = start * stretched / count;
        lead = lead * stretched / count;
        auto frames = [](int64_t sample) { return (sample + int64_t(SAMPLES_PER_FRAME) / 2) / int64_t(SAMPLES_PER_FRAME); };
        for (size_t token = 0; token < spoken.durations.size(); token++)
            spoken.durations[token] = frames(starts[token + 1]) - frames(starts[token]);
    }
    if (section_.gain) amplify(spoken.samples, *section_.gain);
    auto samples = std::make_shared<const std::vector<float>>(std::move(spoken.samples));
    return {piece, std::move(samples), std::move(spoken.durations), std::move(starts), lead};
}

// Divides a rendering where a pause is added.
std::vector<Part> Narrator::parts(const Rendering &rendering) const {
    const Piece &piece = rendering.piece;
    const std::u32string &phonemes = section_.passage.phonemes;
    auto gap = [&](size_t phoneme) {
        size_t start = phoneme;
        while (start > piece.context_start && is_gap(phonemes[start - 1])) start--;
        return rendering.sample(phoneme) - rendering.sample(start);
    };
    std::vector<Part> found;
    size_t start = piece.start;
    for (size_t end = piece.start + 1; end <= piece.end; end++) {
        double pause = manner_.pause_after(section_.breaks[end]);
        if (end == section_.end()) pause = std::max(pause, section_.passage.pause);
        if (pause == 0 && end != piece.end) continue;
        const bool goes_on = end < phonemes.size() || section_.is_open();
        found.push_back({rendering.samples, start ? rendering.sample(start) : 0,
                         goes_on ? rendering.sample(end) : rendering.samples->size(), gap(start), gap(end),
                         size_t(std::nearbyint(SAMPLE_RATE * pause)), start});
        start = end;
    }
    return found;
}

}  // namespace kokoro
