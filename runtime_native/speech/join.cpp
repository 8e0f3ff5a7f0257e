#include "join.h"

#include <algorithm>
#include <cmath>

#include "silence.h"
#include "sums.h"

namespace kokoro {

namespace {

constexpr size_t FADE = 2 * HALF_FADE;
constexpr size_t ROOM = 1'200;          // 50 ms before the gap are searched too
constexpr size_t LARGEST_ROOM = 6'000;  // the most that is searched, 250 ms
constexpr size_t EDGE = 120;            // 5 ms fades around added silence

size_t room_of(size_t gap) { return std::min(gap + ROOM, LARGEST_ROOM); }

double product_sum(const float *one, const float *two, size_t count) {
    return pairwise_sum([&](size_t index) { return double(one[index]) * double(two[index]); }, count);
}

float edge_gain(size_t index) { return static_cast<float>((double(index) + 0.5) / EDGE); }

}  // namespace

int64_t Joiner::add(Part part) {
    int64_t position = 0;
    if (last_) {
        position = join(*last_, part);
    } else {
        const auto &samples = *part.samples;
        kept_.assign(samples.begin(), samples.begin() + std::min(part.end + HALF_FADE, samples.size()));
    }
    border_ = static_cast<size_t>(position + static_cast<int64_t>(part.end));
    last_ = std::move(part);
    return position;
}

std::vector<float> Joiner::take(bool last) {
    size_t ready = kept_.size();
    if (!last && last_) {
        size_t held = room_of(last_->gap_after) + HALF_FADE, before = border_ - begin_;
        ready = before > held ? before - held : 0;
    }
    std::vector<float> found(kept_.begin(), kept_.begin() + ready);
    kept_.erase(kept_.begin(), kept_.begin() + ready);
    bool first = begin_ == 0;
    begin_ += ready;
    if (end_silence_) trim(found, first, last);
    taken_ += found.size();
    return found;
}

// Shortens the silence before the speech, and makes that behind it as long as it should be.
void Joiner::trim(std::vector<float> &taken, bool first, bool last) {
    std::vector<double> found = levels(taken);
    for (double level : found) loudest_ = std::max(loudest_, level);
    auto [start, end] = find_speech(found, loudest_).value_or(std::pair(0, 0));
    if (last && loudest_ > 0) {
        taken.resize(std::min(taken.size(), end + *end_silence_));
        taken.resize(std::min(taken.size(), end) + *end_silence_);
    }
    if (!first) return;
    trimmed_ = start > START_SILENCE ? start - START_SILENCE : 0;
    taken.erase(taken.begin(), taken.begin() + trimmed_);
}

int64_t Joiner::join(const Part &left, const Part &part) {
    size_t border = border_ - begin_;
    // Another passage: both are at an end and have nothing in common.
    if (part.start == 0) return set_apart(border, part, 0, left.pause);
    int64_t room = std::min({int64_t(room_of(left.gap_after)), int64_t(room_of(part.gap_before)),
                             int64_t(border) - int64_t(HALF_FADE),
                             int64_t(part.start) - int64_t(HALF_FADE + LARGEST_SHIFT)});
    size_t reach = static_cast<size_t>(std::max<int64_t>(room, 0)) + HALF_FADE;
    const float *left_side = kept_.data() + border - reach, *right_side = part.samples->data() + part.start - reach;
    size_t back = quietest(left_side, right_side, reach - HALF_FADE);
    if (left.pause) return set_apart(border - back, part, part.start - back, left.pause);
    return crossfade_at(border - back, part, part.start - back);
}

// Fades what is kept out before `cut`, and `part` in from its sample `right` on.
int64_t Joiner::set_apart(size_t cut, const Part &part, size_t right, size_t silence) {
    kept_.resize(cut);
    for (size_t index = 0; index < std::min(EDGE, cut); index++) kept_[cut - 1 - index] *= edge_gain(index);
    kept_.resize(cut + silence);
    size_t end = std::min(part.end + HALF_FADE, part.samples->size()), first = kept_.size();
    kept_.insert(kept_.end(), part.samples->begin() + right, part.samples->begin() + end);
    for (size_t index = 0; index < std::min(EDGE, end - right); index++) kept_[first + index] *= edge_gain(index);
    return int64_t(begin_ + cut + silence) - int64_t(right);
}

// Fades from what is kept to `part` where `cut` of the one and about `right` of the other meet.
int64_t Joiner::crossfade_at(size_t cut, const Part &part, size_t right) {
    const std::vector<float> &samples = *part.samples;
    const float *before = kept_.data() + cut - HALF_FADE;
    size_t searched = right - HALF_FADE - LARGEST_SHIFT;
    right += best_shift(before, samples.data() + searched, samples.size() - searched);
    std::vector<float> fade = crossfade(before, samples.data() + right - HALF_FADE);
    kept_.resize(cut - HALF_FADE);
    kept_.insert(kept_.end(), fade.begin(), fade.end());
    size_t end = std::min(part.end + HALF_FADE, samples.size());
    if (right + HALF_FADE < end) kept_.insert(kept_.end(), samples.begin() + right + HALF_FADE, samples.begin() + end);
    return int64_t(begin_ + cut) - int64_t(right);
}

size_t quietest(const float *left, const float *right, size_t room) {
    auto square = [](float value) { return double(value) * double(value); };
    std::vector<double> sums(room + FADE + 1);
    for (size_t index = 0; index + 1 < sums.size(); index++)
        sums[index + 1] = sums[index] + (square(left[index]) + square(right[index]));
    size_t best = 0;
    for (size_t start = 1; start <= room; start++)
        if (sums[start + FADE] - sums[start] < sums[best + FADE] - sums[best]) best = start;
    return room - best;
}

size_t best_place(const float *left, const float *samples, size_t first, size_t step, size_t number, size_t count) {
    size_t best = first;
    double highest = -INFINITY;
    for (size_t place = first; place < first + step * number; place += step) {
        const float *window = samples + place;
        double power = product_sum(window, window, count);
        double correlation = product_sum(window, left, count) / std::sqrt(power + 1e-12);
        if (correlation > highest) highest = correlation, best = place;
    }
    return best;
}

int64_t best_shift(const float *left, const float *right, size_t count) {
    size_t shifts = std::min(count - FADE, 2 * LARGEST_SHIFT);
    return int64_t(best_place(left, right, 0, 1, shifts + 1, FADE)) - int64_t(LARGEST_SHIFT);
}

std::vector<float> crossfade(const float *left, const float *right, size_t count) {
    double powers = std::sqrt(product_sum(left, left, count) * product_sum(right, right, count));
    double correlation = std::max(0.0, product_sum(left, right, count) / (powers + 1e-12));
    std::vector<float> faded(count);
    for (size_t index = 0; index < count; index++) {
        double rising = (double(index) + 0.5) / double(count), falling = 1 - rising;
        double power = falling * falling + rising * rising + 2 * falling * rising * correlation;
        double sum = falling * double(left[index]) + rising * double(right[index]);
        faded[index] = static_cast<float>(sum / std::sqrt(power));
    }
    return faded;
}

}  // namespace kokoro
