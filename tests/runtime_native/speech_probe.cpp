// Answers questions about speech, a line each, so that Python can compare the native runtime with golden vectors.
// Fields are parted by spaces; texts are UTF-8 in hexadecimal digits, `-` stands for none.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>

#include "base/characters.h"
#include "base/errors.h"
#include "base/utf8.h"
#include "model/blend.h"
#include "model/loudness.h"
#include "model/statistics.h"
#include "output/wav.h"
#include "speech/sentences.h"
#include "speech/silence.h"
#include "speech/speak.h"
#include "speech/stream.h"

using namespace kokoro;

namespace {

constexpr size_t COLUMNS = 8, ROWS = 510;

std::string hex(const void *data, size_t size) {
    constexpr char DIGITS[] = "0123456789abcdef";
    std::string text;
    for (size_t at = 0; at < size; at++) {
        unsigned byte = static_cast<const unsigned char *>(data)[at];
        text += {DIGITS[byte / 16], DIGITS[byte % 16]};
    }
    return text;
}

std::string hex(const std::string &bytes) { return hex(bytes.data(), bytes.size()); }

template <typename Item>
std::string hex(const std::vector<Item> &items) {
    return hex(items.data(), items.size() * sizeof(Item));
}

template <typename Item>
Item read(std::istream &line) {
    Item item;
    line >> item;
    return item;
}

std::string read_bytes(std::istream &line) {
    std::string digits = read<std::string>(line), bytes;
    for (size_t at = 0; digits != "-" && at < digits.size(); at += 2)
        bytes += static_cast<char>(std::stoi(digits.substr(at, 2), nullptr, 16));
    return bytes;
}

std::u32string read_text(std::istream &line) { return decode_utf8(read_bytes(line)); }

template <typename Item>
void print(const std::vector<Item> &items) {
    for (const Item &item : items) std::cout << +item << ' ';
}

// From here on as in tests/support/speech_vectors.py.

int64_t noise(uint64_t seed, size_t index) {
    uint64_t word = (seed + index + 1) * 0x9E3779B97F4A7C15;
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB;
    return static_cast<int64_t>(word >> 48) - (1 << 15);
}

std::vector<float> samples(uint64_t seed, size_t count, int64_t period) {
    std::vector<float> made(count);
    for (size_t index = 0; index < count; index++) {
        int64_t time = static_cast<int64_t>(index) % period;
        int64_t wave = 4 * 65536 * std::min(time, period - time) / period - 65536;
        int64_t quarter = noise(seed, index) >> 2;
        made[index] = static_cast<float>(std::ldexp(static_cast<double>(4 * wave + quarter), -20));
    }
    return made;
}

const Loudness MEASURED{{"plain", -2312}, {"other", -1990}};

bool is_quiet(char32_t phoneme) { return is_one_of(phoneme, U" ,.;:!?—"); }

Prepared prepare(const Utterance &utterance, int64_t capacity) {
    Prepared prepared;
    std::u32string phonemes = U" " + utterance.phonemes + U" ";
    int64_t all = 0, slower = utterance.style.prosody[0] > 0;
    for (size_t at = 0; at < phonemes.size(); at++) {
        double frames = at == 0 || at + 1 == phonemes.size() ? 5 : 2 + phonemes[at] % 4 + slower;
        prepared.durations.push_back(std::max<int64_t>(1, std::llrint(frames / utterance.speed)));
        all += prepared.durations.back();
    }
    if (all > capacity) throw Error(KOKORO_UTTERANCE_TOO_LONG_ERROR, "too long");
    std::vector<float> whole;
    for (size_t at = 0; at < phonemes.size(); at++) {
        auto sound = samples((utterance.seed + at) & 0xFFFFFFFF, 600 * prepared.durations[at], 60 + phonemes[at] % 97);
        int loudness = is_quiet(phonemes[at]) ? 10 : static_cast<int>(utterance.style.decoder[0]);
        for (float &sample : sound) whole.push_back(std::ldexp(sample, -loudness));
        float loud = is_quiet(phonemes[at]) ? 1 : 2 + phonemes[at] % 7;
        prepared.energy.insert(prepared.energy.end(), 2 * prepared.durations[at], loud);
    }
    prepared.statistics = utterance.statistics;
    prepared.decode = [whole](int64_t start, int64_t end, bool of_voice) {
        std::vector<float> part(whole.begin() + 600 * start, whole.begin() + 600 * end);
        // What is given statistics is told by its level.
        for (float &sample : part) sample *= of_voice ? 0.5f : 1.0f;
        return part;
    };
    return prepared;
}

std::vector<float> voice_table(uint64_t number) {
    std::vector<float> table(ROWS * COLUMNS);
    for (size_t at = 0; at < table.size(); at++)
        table[at] = at % COLUMNS ? std::ldexp(static_cast<float>(noise(number, at)), -16) : 1 + number % 2;
    return table;
}

Segment read_segment_line() {
    std::string text;
    std::getline(std::cin, text);
    std::istringstream line(text);
    Segment segment;
    std::string voice = read_bytes(line);
    double speed = read<double>(line);
    if (!voice.empty()) segment.voice = voice;
    if (speed) segment.speed = speed;
    segment.pause = read<double>(line);
    auto words = read<size_t>(line);
    if (!words) segment.phonemes = read_text(line);
    while (words--) {
        Word word{read_text(line), {}, {}};
        std::string phonemes = read<std::string>(line);
        std::istringstream field(phonemes.substr(1));
        if (phonemes != "!") word.phonemes = phonemes == "=" ? U"" : read_text(field);
        word.whitespace = read_text(line);
        segment.words.push_back(word);
    }
    return segment;
}

void add_lines(std::string &lines, const std::u32string &text, std::initializer_list<double> numbers) {
    if (!lines.empty()) lines += '\n';
    lines += encode_utf8(text);
    for (double number : numbers) lines += "|" + std::to_string(std::llrint(number));
}

// Prints the bits of a piece.
bool print_piece(const Audio &piece) {
    std::string lines;
    for (auto *timings : {&piece.tokens, &piece.words})
        for (const Timing &timing : *timings)
            add_lines(lines, timing.text, {timing.start * SAMPLE_RATE, timing.end * SAMPLE_RATE});
    for (const Unspoken &word : piece.unspoken) add_lines(lines, word.text, {double(word.offset)});
    std::cout << hex(encode_utf8(piece.phonemes)) << ' ' << piece.samples.size() << ' ' << hex(piece.samples)
              << hex(piece.durations) << hex(&piece.start, sizeof piece.start) << hex(lines) << ' ';
    return true;
}

void print_speech(std::istream &line, const Voices &voices) {
    Request request;
    request.voice = read_bytes(line);
    line >> request.speed >> request.seed >> request.sentence_pause >> request.clause_pause >> request.trim;
    line >> request.end_pause;
    double loudness = read<double>(line);
    if (loudness != 0) request.loudness = loudness;
    request.stretch = read<bool>(line);
    request.one_pass = read<bool>(line);
    bool whole = read<bool>(line);
    size_t limit = read<size_t>(line);
    int64_t capacity = read<int64_t>(line);
    bool has_statistics = read<bool>(line);
    std::set<char32_t> vocabulary;
    for (char32_t phoneme : read_text(line)) vocabulary.insert(phoneme);
    auto segments = read<size_t>(line);
    while (segments--) request.segments.push_back(read_segment_line());
    auto style = [&](const std::string &voice, size_t phonemes) { return style_row(voices, voice, phonemes); };
    auto gain = [&](const std::string &voice, double wanted) { return voice_gain(MEASURED, voices, voice, wanted); };
    auto statistics = [&](const std::string &voice) {
        auto weights = voice_weights(voices, voice);
        auto is_known = [](const auto &each) { return each.first == "plain" || each.first == "a+b"; };
        bool all_known = std::all_of(weights.begin(), weights.end(), is_known);
        return has_statistics && all_known ? std::make_shared<const Statistics>() : nullptr;
    };
    auto next = [rest = std::optional<Request>(request)]() mutable { return std::exchange(rest, {}); };
    Speech speech(Plans({style, vocabulary, limit, gain, statistics}, next, whole),
                  [&](const Utterance &utterance) { return prepare(utterance, capacity); });
    stream([&] { return speech.next(); }, print_piece, [] {});
}

void answer(const std::string &question, std::istream &line, const Voices &voices) {
    if (question == "breaks") {
        std::u32string phonemes = read_text(line);
        std::optional<std::vector<size_t>> sentences;
        if (read<bool>(line)) sentences.emplace();
        for (size_t start; line >> start;) sentences->push_back(start);
        for (Break kind : find_breaks(phonemes, sentences)) std::cout << int(kind);
    } else if (question == "pieces") {
        std::u32string phonemes = read_text(line);
        size_t limit = read<size_t>(line), size = read<size_t>(line);
        print(split(phonemes, find_breaks(phonemes), limit, size, read<size_t>(line)));
    } else if (question == "sentences") {
        for (auto [start, end] : find_sentences(read_text(line))) std::cout << start << ' ' << end << ' ';
    } else if (question == "seed") {
        uint64_t seed = read<uint64_t>(line);
        std::cout << piece_seed(seed, read<size_t>(line));
    } else if (question == "blend") {
        std::string voice = read_bytes(line);
        Style style = style_row(voices, voice, read<size_t>(line));
        std::cout << hex(style.decoder) << hex(style.prosody);
    } else if (question == "gain") {
        std::string voice = read_bytes(line);
        float gain = voice_gain(MEASURED, voices, voice, read<double>(line));
        std::cout << hex(&gain, sizeof gain);
    } else if (question == "silence") {
        uint64_t seed = read<uint64_t>(line);
        size_t count = read<size_t>(line), before = read<size_t>(line), behind = read<size_t>(line);
        int shift = read<int>(line);
        auto sound = samples(seed, count, 100);
        for (size_t at = 0; at < count; at++) {
            if (at < before) sound[at] = std::ldexp(sound[at], -shift);
            if (at >= count - behind) sound[at] = std::ldexp(sound[at], -shift);
        }
        std::vector<double> found = levels(sound);
        double loudest = std::ldexp(read<double>(line), -20);
        for (double level : found) loudest = std::max(loudest, level);
        if (auto bounds = find_speech(found, loudest)) std::cout << bounds->first << ' ' << bounds->second;
    } else if (question == "quietest") {
        uint64_t seed = read<uint64_t>(line);
        size_t room = read<size_t>(line), count = room + 2 * HALF_FADE;
        std::cout << quietest(samples(seed, count, 700).data(), samples(seed + 50, count, 900).data(), room);
    } else if (question == "shift") {
        uint64_t seed = read<uint64_t>(line);
        size_t count = read<size_t>(line);
        int64_t period = read<int64_t>(line);
        std::cout << best_shift(samples(seed, 2 * HALF_FADE, period).data(), samples(seed + 50, count, period).data(), count);
    } else if (question == "fade") {
        uint64_t left = read<uint64_t>(line), right = read<uint64_t>(line);
        int64_t period = read<int64_t>(line);
        std::cout << hex(crossfade(samples(left, 2 * HALF_FADE, 100).data(),
                                   samples(right, 2 * HALF_FADE, period).data()));
    } else if (question == "header") {
        unsigned rate = read<unsigned>(line);
        std::cout << hex(wav_header(rate, read<size_t>(line)));
    } else if (question == "pcm16") {
        std::string bytes = read_bytes(line);
        std::vector<float> values(bytes.size() / sizeof(float));
        std::memcpy(values.data(), bytes.data(), bytes.size());
        std::cout << hex(encode(values.data(), values.size()));
    } else if (question == "characters") {
        for (char32_t point = 0; point < 0x110000; point++) std::cout << is_space(point) + 2 * is_gap(point);
    } else if (question == "speech") {
        print_speech(line, voices);
    }
}

}  // namespace

int main() {
    std::map<std::string, std::vector<float>> tables{
        {"plain", voice_table(1)}, {"other", voice_table(2)}, {"a+b", voice_table(3)}};
    Voices voices{{"plain", "other", "a+b"}, COLUMNS, [&](const std::string &name) -> auto & { return tables[name]; }};
    for (std::string text, question; std::getline(std::cin, text);) {
        std::istringstream line(text);
        line >> question;
        try {
            answer(question, line, voices);
        } catch (const Error &error) {
            std::cout << "error " << error.code;
        }
        std::cout << '\n';
    }
}
