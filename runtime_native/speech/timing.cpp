#include "timing.h"

#include <algorithm>
#include <iterator>

namespace kokoro {

namespace {

Timing timing(std::u32string text, int64_t start, int64_t end) {
    auto seconds = [](int64_t samples) { return double(std::max<int64_t>(samples, 0)) / SAMPLE_RATE; };
    return {std::move(text), seconds(start), seconds(end)};
}

template <typename Item>
void append_all(std::vector<Item> &to, std::vector<Item> &&from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

void Audio::append(Audio &&piece) {
    append_all(samples, std::move(piece.samples));
    append_all(durations, std::move(piece.durations));
    phonemes += piece.phonemes;
    append_all(tokens, std::move(piece.tokens));
    append_all(words, std::move(piece.words));
    append_all(unspoken, std::move(piece.unspoken));
}

Clock::Clock(std::u32string phonemes, std::vector<WordSpan> words)
    : phonemes_(std::move(phonemes)), words_(std::move(words)), starts_(phonemes_.size()), lengths_(phonemes_.size()) {}

void Clock::place(size_t first, size_t end, int64_t start, const int64_t *starts) {
    for (size_t phoneme = first; phoneme < end; phoneme++, starts++) {
        starts_[phoneme] = start + starts[0];
        lengths_[phoneme] = starts[1] - starts[0];
    }
}

std::vector<Timing> Clock::tokens(size_t first, size_t end) const {
    std::vector<Timing> found;
    for (size_t at = first; at < end; at++)
        found.push_back(timing({phonemes_[at]}, starts_[at], starts_[at] + lengths_[at]));
    return found;
}

std::vector<Timing> Clock::words(size_t end) {
    std::vector<Timing> found;
    for (; next_word_ < words_.size(); next_word_++) {
        const WordSpan &next = words_[next_word_];
        if (next.end + next.spaced > end) break;
        found.push_back(word(next));
    }
    return found;
}

Timing Clock::word(const WordSpan &word) const {
    int64_t start = starts_[word.first], stop = starts_[word.end - 1] + lengths_[word.end - 1];
    if (word.first && phonemes_[word.first - 1] == U' ') start -= lengths_[word.first - 1] / 2;
    if (word.spaced) stop += lengths_[word.end] / 2;
    return timing(word.text, start, stop);
}

}  // namespace kokoro
