#include "lead.h"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace kokoro {

namespace {

constexpr double CAUTION = 1.5;  // the machine may become slower by this factor without a gap
// Phonemes that take as long as what is computed beside those of a piece: its neighbours' frames.
constexpr size_t BESIDE = 40;
constexpr size_t READING = 5;  // so many phonemes are read in the time in which one is decoded

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

double Player::take(double seconds) {
    double at = now(), end = end_.value_or(at);
    end_ = std::max(at, end) + seconds;
    return end - at;
}

std::optional<Audio> steady_start(Speech &speech) {
    std::optional<Audio> held;
    std::vector<size_t> following = speech.lengths();
    const size_t all = std::accumulate(following.begin(), following.end(), size_t(0));
    double reading = double(all / READING);
    // After so many phonemes as of a large piece, others of that size may follow.
    if (all >= LARGEST_PIECE) following.push_back(LARGEST_PIECE);
    double slowest = 0, start = now();
    while (auto piece = speech.next()) {
        double end = now(), heard = piece->tokens.back().end - piece->tokens.front().start;
        size_t phonemes = piece->phonemes.size();
        slowest = std::max(slowest, (end - start) / double(phonemes + BESIDE));
        start = end;
        if (held) held->append(std::move(*piece));
        else held = std::move(piece);
        if (!following.empty()) following.erase(following.begin());
        double seconds = double(held->samples.size()) / SAMPLE_RATE;
        // The second piece waits until all of the passage is read.
        if (lasts(seconds - CAUTION * slowest * reading, following, heard / double(phonemes), CAUTION * slowest)) break;
        reading = 0;
    }
    return held;
}

bool lasts(double lead, const std::vector<size_t> &lengths, double heard, double computed) {
    for (size_t length : lengths) {
        lead -= computed * double(length + BESIDE);
        if (lead < 0) return false;
        lead += heard * double(length);
    }
    return true;
}

}  // namespace kokoro
