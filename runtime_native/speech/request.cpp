#include "request.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <locale>
#include <map>
#include <sstream>

#include "../base/characters.h"
#include "../base/errors.h"
#include "../base/utf8.h"
#include "../model/statistics.h"
#include "sentences.h"

namespace kokoro {

namespace {

constexpr double LOWEST_SPEED = 0.25;
constexpr double HIGHEST_SPEED = 4;
constexpr double LONGEST_PAUSE = 60;   // seconds
constexpr double LOWEST_LOUDNESS = -50, HIGHEST_LOUDNESS = -14;  // LUFS
constexpr size_t MOST_NAMED = 20;      // items that a message names
// 2^64 over the golden ratio: the seeds of pieces lie far from each other and from other seeds' pieces.
constexpr uint64_t SEED_STEP = 0x9E3779B97F4A7C15;

std::string shown(double number) {
    std::ostringstream stream;
    stream.imbue(std::locale::classic());
    stream << number;
    return stream.str();
}

std::string listed(const std::vector<std::string> &items) {
    std::string list;
    for (size_t index = 0; index < std::min(items.size(), MOST_NAMED); index++)
        list += (index ? ", " : "") + items[index];
    if (items.size() > MOST_NAMED) list += " and " + std::to_string(items.size() - MOST_NAMED) + " more";
    return list;
}

std::string quoted(std::u32string_view text) { return "'" + encode_utf8(text) + "'"; }

// Names a phoneme and the positions at which it was found.
std::string described(char32_t phoneme, const std::vector<std::string> &positions) {
    char code[16];
    std::snprintf(code, sizeof code, "U+%04X", static_cast<unsigned>(phoneme));
    return quoted({&phoneme, 1}) + " (" + code + ") at " + listed(positions);
}

// Returns the phonemes, from the first that is `spoken`, at which sentences of the passage begin after others, as its
// text shows.
std::vector<size_t> sentence_starts(const Passage &passage, size_t spoken) {
    std::vector<size_t> starts;
    auto word = passage.words.begin(), end = passage.words.end();
    auto sentences = find_sentences(passage.text);
    for (size_t index = 1; index < sentences.size(); index++) {
        auto before = end;
        while (word != end && word->text_offset < sentences[index].first) before = word++;
        // One word may be the end of a sentence and the beginning of another.
        if (word != end && before != end && before->text_offset + before->text.size() <= sentences[index].first)
            starts.push_back(word->first - spoken);
    }
    return starts;
}

// Returns the phonemes with which what follows on a plan is read: from the beginning of a word.
std::u32string context_after(const std::u32string &before, const SpeechPlan &plan) {
    const Section &last = plan.sections.back();
    if (!last.is_open()) return {};
    if (!last.end()) return before;
    std::u32string spoken = last.passage.phonemes.substr(0, last.end());
    if (spoken.size() <= CONTEXT) return spoken;
    spoken.erase(0, spoken.size() - CONTEXT);
    const size_t space = spoken.find(U' ');
    return space < CONTEXT - 1 ? spoken.substr(space + 1) : spoken;
}

// Returns the breaks of the spoken phonemes of a passage as those of all its phonemes.
Breaks shifted(const Breaks &breaks, size_t start, size_t length) {
    Breaks all(start, Break::NONE);
    all.insert(all.end(), breaks.begin(), breaks.end());
    all.resize(length + 1, Break::NONE);
    return all;
}

}  // namespace

void refuse_empty(std::u32string_view text) {
    throw Error(KOKORO_EMPTY_INPUT_ERROR,
                text.empty() ? "There are no phonemes to speak: give a text, or at least one phoneme."
                             : "Nothing of the text " + quoted(text.substr(0, 80)) +
                                   " can be spoken: give a word or a sign of its language.");
}

void check_phonemes(const Passage &passage, const std::set<char32_t> &vocabulary) {
    std::vector<char32_t> unknown;
    std::map<char32_t, std::vector<std::string>> positions;
    std::vector<std::string> named, words;
    auto word = passage.words.begin();
    for (size_t at = 0; at < passage.phonemes.size(); at++) {
        char32_t phoneme = passage.phonemes[at];
        if (vocabulary.count(phoneme)) continue;
        if (positions[phoneme].empty()) unknown.push_back(phoneme);
        positions[phoneme].push_back(std::to_string(at));
        while (word != passage.words.end() && word->end <= at) word++;
        if (word != passage.words.end() && word->first <= at)
            words.push_back(quoted(word->text) + " at " + std::to_string(word->text_offset));
    }
    if (unknown.empty()) return;
    for (char32_t phoneme : unknown) named.push_back(described(phoneme, positions[phoneme]));
    words.erase(std::unique(words.begin(), words.end()), words.end());
    throw Error(KOKORO_UNKNOWN_PHONEMES_ERROR,
                "The bundle's vocabulary lacks these phonemes: " + listed(named) +
                    (words.empty() ? "" : ", in the text's words " + listed(words)) +
                    ". Positions count from 0. Give phonemes as kokoro's G2P (misaki) writes them, without the "
                    "unknown ones, or set `text` to speak text.");
}

double check_speed(double speed) {
    // NaN fails every comparison.
    if (speed >= LOWEST_SPEED && speed <= HIGHEST_SPEED) return speed;
    throw Error(KOKORO_SPEED_ERROR, "The speed must be a number from 0.25 to 4, found " + shown(speed) + ".");
}

double check_pause(double seconds) {
    if (seconds >= 0 && seconds <= LONGEST_PAUSE) return seconds;
    throw Error(KOKORO_PAUSE_ERROR,
                "A pause must be a number of seconds from 0 to 60, found " + shown(seconds) + ".");
}

double check_loudness(double loudness) {
    if (loudness >= LOWEST_LOUDNESS && loudness <= HIGHEST_LOUDNESS) return loudness;
    throw Error(KOKORO_LOUDNESS_ERROR,
                "The loudness must be a number from -50 to -14 LUFS, found " + shown(loudness) + ".");
}

uint64_t piece_seed(uint64_t seed, size_t first) { return seed + SEED_STEP * first; }

std::optional<SpeechPlan> Plans::next() {
    while (auto request = requests_()) {
        if (auto plan = planner_.plan(std::move(*request))) return plan;
    }
    planner_.end();
    return {};
}

std::optional<SpeechPlan> Planner::plan(Request request) {
    if (request.link) request.link->before = context_;
    SpeechPlan made = plan_speech(request);
    context_ = context_after(context_, made);
    if (!phonemes_before_) {
        std::move(made.sections.begin(), made.sections.end(), std::back_inserter(silent_));
        return {};
    }
    made.sections.insert(made.sections.begin(), std::make_move_iterator(silent_.begin()),
                         std::make_move_iterator(silent_.end()));
    silent_.clear();
    return made;
}

void Planner::end() const {
    if (phonemes_before_) return;
    std::u32string text;
    for (const Section &section : silent_) text += section.passage.text;
    refuse_empty(strip(text));
}

void Planner::check_manner(const Request &request) const {
    check_pause(request.sentence_pause);
    check_pause(request.clause_pause);
    check_pause(request.end_pause);
    if (request.loudness) check_loudness(*request.loudness);
    check_speed(request.speed);
    capabilities_.style(request.voice, 1);
    if (request.loudness) capabilities_.gain(request.voice, *request.loudness);
}

SpeechPlan Planner::plan_speech(const Request &request) {
    SpeechPlan made{{}, capabilities_.max_phonemes, check_pause(request.sentence_pause),
                    check_pause(request.clause_pause), request.trim, check_pause(request.end_pause)};
    if (request.loudness) check_loudness(*request.loudness);
    std::vector<Passage> passages;
    for (const Segment &segment : request.segments) {
        if (segment.phonemes.empty() && segment.words.empty()) refuse_empty({});
        passages.push_back(read_segment(segment));
    }
    for (Passage &passage : passages) {
        bool ended = &passage != &passages.back() || request.ends_segment ||
                     (!passage.text.empty() && passage.text.back() == U'\n');
        made.sections.push_back(section(request, std::move(passage), ended));
    }
    return made;
}

Section Planner::section(const Request &request, Passage passage, bool ended) {
    for (Unspoken &word : passage.unspoken) word.offset += text_before_;
    text_before_ += passage.text.size();
    check_phonemes(passage, capabilities_.vocabulary);
    check_pause(passage.pause);
    std::optional<Link> link = request.link;
    if (link && !passage.phonemes.empty()) {
        // What it cannot speak is told when it is to be spoken.
        const auto &known = capabilities_.vocabulary;
        auto is_known = [&](char32_t phoneme) { return known.count(phoneme) > 0; };
        if (!std::all_of(link->after.begin(), link->after.end(), is_known)) link->after.clear();
        add_link(passage, *link);
    }
    const bool linked = link && !passage.phonemes.empty();
    const size_t length = passage.phonemes.size(), limit = capabilities_.max_phonemes;
    const size_t start = linked ? link->before.size() : 0;
    const std::u32string spoken =
        passage.phonemes.substr(start, length - start - (linked ? link->after.size() : 0));
    std::optional<std::vector<size_t>> sentences;
    if (!passage.words.empty()) sentences = sentence_starts(passage, start);
    Breaks breaks = find_breaks(spoken, sentences);
    // A heading or a paragraph without punctuation, and not a sentence with a pause within it.
    if (ended && breaks[spoken.size()] == Break::WORD && passage.pause == 0) breaks[spoken.size()] = Break::SENTENCE;
    std::vector<size_t> ends{length};
    bool whole = whole_ || request.one_pass;
    if (!whole || length > limit)
        ends = split(spoken, breaks, limit, std::min(LARGEST_PIECE, (limit + 1) / 2), phonemes_before_);
    std::string voice = passage.voice.value_or(request.voice);
    auto row = [&](size_t phonemes) { return std::max<size_t>(std::min(phonemes, limit), 1); };
    // A part of a text whose length is not known has the row of a large piece, and that of all that is read at once.
    const bool is_part = link && (!link->before.empty() || link->is_open);
    const size_t decoder_row = row(is_part ? LARGEST_PIECE : length);
    Style style = capabilities_.style(voice, row(is_part ? 5 * length / 4 : length));
    if (is_part) style.decoder = capabilities_.style(voice, decoder_row).decoder;
    std::optional<float> gain;
    if (request.loudness) gain = capabilities_.gain(voice, *request.loudness);
    std::optional<Opening> first;
    for (size_t &end : ends) end += start;
    breaks = shifted(breaks, start, length);
    if (!start && !whole && phonemes_before_ < FIRST_CLAUSE && !ends.empty())
        first = opening(passage, breaks, ends[0], voice, style);
    double speed = check_speed(passage.speed.value_or(request.speed));
    uint64_t seed = piece_seed(request.seed, phonemes_before_ - start);
    std::shared_ptr<const Statistics> statistics;
    // What is decoded as a whole has the statistics of the whole.
    if (decoder_row >= SHORTEST_ROW && (link || ends.size() > 1)) statistics = capabilities_.statistics(voice);
    if (statistics && !whole && !phonemes_before_ && !ends.empty()) {
        if (auto early = first_words(breaks, ends[0])) ends.insert(ends.begin(), *early);
    }
    phonemes_before_ += spoken.size();
    return {std::move(passage), std::move(breaks), std::move(ends), std::move(style), speed, seed, request.stretch, gain,
            std::move(first), std::move(link), std::move(statistics)};
}

// Returns how the first piece is read, between words if it can; none if that is all of the passage.
std::optional<Opening> Planner::opening(const Passage &passage, const Breaks &breaks, size_t first_end,
                                      const std::string &voice, const Style &style) const {
    size_t limit = capabilities_.max_phonemes, length = passage.phonemes.size();
    size_t end = std::min(limit, first_end + LOOKAHEAD);
    size_t most = end, least = std::max(first_end, most - std::min(most, LOOKAHEAD / 2));
    for (size_t at = most; at > least; at--)
        if (at <= length && breaks[at] != Break::NONE) {
            end = at;
            break;
        }
    if (end >= length) return {};
    Style row = capabilities_.style(voice, std::min({5 * end / 4, length, limit}));
    return Opening{end, first_end, {style.decoder, row.prosody}};
}

}  // namespace kokoro
