#include "passes.h"

#include <algorithm>
#include <cmath>

namespace kokoro {

namespace {

constexpr int64_t FEWEST_FRAMES = 24, MOST_FRAMES = 96;  // of each neighbour that the decoder sees
constexpr int64_t BESIDE_FRAMES = 8;    // the same where the decoder takes the statistics of the voice
// It takes them for pieces of fewer frames: the statistics of a larger one are nearer to those of the pass.
constexpr int64_t LARGE_PIECE = 150;
constexpr int64_t OPENING_FRAMES = 16;  // behind an opening's piece, which nothing should delay
constexpr double FRAME_PRICE = 0.004;  // decibels by which the loss must be less for one more frame
// Decibels by which speech comes out too quietly for one more of the energy's mean and standard deviation.
constexpr double MEAN_LOSS = 1.4, SPREAD_LOSS = 0.95;

// Returns the pass that reads pieces with context, which begins and ends between words if it can.
Pass pass_of(const Section &section, std::vector<Span> pieces, size_t limit) {
    size_t start = pieces.front().first, end = pieces.back().second;
    size_t length = end - start, all = section.passage.phonemes.size();
    size_t most = std::min({CONTEXT, length, (limit - length) / 2});
    size_t before = start > most ? start - most : 0, after = std::min(all, end + most);
    // Offsets before the passage and beyond it are no breaks.
    for (size_t distance = most; distance > most / 2; distance--)
        if (distance <= start && section.breaks[start - distance] != Break::NONE) {
            before = start - distance;
            break;
        }
    for (size_t distance = most; distance > most / 2; distance--)
        if (end + distance <= all && section.breaks[end + distance] != Break::NONE) {
            after = end + distance;
            break;
        }
    return {before, after, std::move(pieces), &section.style};
}

// Returns which of ascending distances may be chosen, as the first and the one after the last: the last one if all are
// too short.
Span within(const std::vector<int64_t> &distances, int64_t fewest, int64_t most) {
    auto begin = distances.begin(), end = distances.end();
    size_t nearest = std::lower_bound(begin, end, fewest) - begin;
    if (nearest >= distances.size()) return {distances.size() - 1, distances.size()};
    return {nearest, std::max<size_t>(nearest + 1, std::upper_bound(begin, end, most) - begin)};
}

// Tells by how many dB the decoder speaks too quietly between two tokens.
class Losses {
public:
    Losses(const std::vector<float> &energy, const std::vector<int64_t> &frames) : frames_(frames) {
        // Added one after another, as in Python.
        for (float each : energy) {
            double value = each;
            sums_.push_back(sums_.back() + value);
            squares_.push_back(squares_.back() + value * value);
        }
        whole_ = louder(0, frames.size() - 1);
    }

    double operator()(size_t left, size_t right) const { return louder(left, right) - whole_; }

private:
    double louder(size_t left, size_t right) const {
        const size_t first = 2 * frames_[left], last = 2 * frames_[right];
        const double count = double(last - first);
        const double mean = (sums_[last] - sums_[first]) / count;
        const double variance = (squares_[last] - squares_[first]) / count - mean * mean;
        return MEAN_LOSS * mean + SPREAD_LOSS * std::sqrt(std::max(variance, 0.0));
    }

    const std::vector<int64_t> &frames_;
    std::vector<double> sums_{0}, squares_{0};  // of the energy before each of its values
    double whole_ = 0;
};

// Returns the tokens between which the loss is least, in few frames.
Window best(const std::vector<float> &energy, const std::vector<int64_t> &frames, const std::vector<size_t> &lefts,
            const std::vector<size_t> &rights) {
    const Losses losses(energy, frames);
    Window found{};
    double least = INFINITY;
    for (size_t left : lefts)
        for (size_t right : rights) {
            const double loss = losses(left, right);
            const double cost = std::fabs(loss) + FRAME_PRICE * double(frames[right] - frames[left]);
            if (cost < least) {
                least = cost;
                found = {left, right, static_cast<float>(std::pow(10.0, loss / 20))};
            }
        }
    return found;
}

}  // namespace

std::vector<Pass> find_passes(const Section &section, size_t limit) {
    size_t all = section.passage.phonemes.size(), start = section.start();
    std::vector<Span> pieces;
    for (size_t end : section.piece_ends) {
        pieces.emplace_back(start, end);
        start = end;
    }
    std::vector<Pass> passes;
    if (section.opening) {
        auto is_early = [&](const Span &piece) { return piece.second <= section.opening->spoken; };
        auto later = std::find_if_not(pieces.begin(), pieces.end(), is_early);
        passes.push_back({0, section.opening->end, {pieces.begin(), later}, &section.opening->style, true});
        pieces.erase(pieces.begin(), later);
        if (pieces.empty()) return passes;
    }
    if (all <= limit) {
        passes.push_back({0, all, std::move(pieces), &section.style});
        return passes;
    }
    size_t room = std::max(limit / 2, limit > 2 * CONTEXT ? limit - 2 * CONTEXT : 0);
    std::vector<Span> group;
    for (Span piece : pieces) {
        if (!group.empty() && piece.second - group[0].first > room) {
            passes.push_back(pass_of(section, std::move(group), limit));
            group.clear();
        }
        group.push_back(piece);
    }
    passes.push_back(pass_of(section, std::move(group), limit));
    return passes;
}

std::vector<Pass> smaller_passes(const Section &section, const Pass &large, size_t limit) {
    auto begin = large.pieces.begin(), end = large.pieces.end();
    if (large.pieces.size() > 1) {
        auto half = begin + large.pieces.size() / 2;
        return {pass_of(section, {begin, half}, limit), pass_of(section, {half, end}, limit)};
    }
    auto [start, stop] = large.pieces[0];
    if (stop - start == 1) return {{start, stop, large.pieces, &section.style}};
    size_t half = (stop - start + 1) / 2, middle = start + half;
    if (auto best = best_end(section.breaks, start, half)) {
        middle = *best;
    } else {
        while (middle < stop && section.breaks[middle] == Break::NONE) middle++;
        if (middle == stop) middle = start + half;
    }
    return {pass_of(section, {{start, middle}}, limit), pass_of(section, {{middle, stop}}, limit)};
}

Window find_window(const Prepared &prepared, const Pass &read, Span piece) {
    std::vector<int64_t> frames{0};
    for (int64_t duration : prepared.durations) frames.push_back(frames.back() + duration);
    size_t first = piece.first - read.start + 1, last = piece.second - read.start + 1;
    const int64_t count = frames[last] - frames[first];
    const bool of_voice = prepared.statistics && count < LARGE_PIECE;
    const int64_t fewest = of_voice ? BESIDE_FRAMES : read.is_opening ? OPENING_FRAMES : FEWEST_FRAMES;
    const bool is_fixed = of_voice || read.is_opening;
    const int64_t most = is_fixed ? fewest : std::min(MOST_FRAMES, std::max(fewest, count / 2));
    std::vector<size_t> lefts{0}, rights{frames.size() - 1};
    if (piece.first > read.start) {
        std::vector<int64_t> distances;
        for (size_t token = first; token-- > 0;) distances.push_back(frames[first] - frames[token]);
        auto [nearest, end] = within(distances, fewest, most);
        lefts.clear();
        for (size_t at = nearest; at < end; at++) lefts.push_back(first - 1 - at);
    }
    if (piece.second < read.end) {
        std::vector<int64_t> distances;
        for (size_t token = last + 1; token < frames.size(); token++) distances.push_back(frames[token] - frames[last]);
        auto [nearest, end] = within(distances, fewest, most);
        rights.clear();
        for (size_t at = nearest; at < end; at++) rights.push_back(last + 1 + at);
    }
    if (of_voice) return {lefts[0], rights[0], 1, of_voice};
    return best(prepared.energy, frames, lefts, rights);
}

}  // namespace kokoro
