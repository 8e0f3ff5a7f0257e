#include "japanese_dictionary.h"

#include <algorithm>
#include <set>

#include "../base/hashing.h"
#include "kana.h"
#include "planes.h"
#include "word_table.h"

namespace kokoro::text {

namespace {

constexpr char JAPANESE[] = "the Japanese dictionary";
constexpr size_t JAPANESE_HEADER = 40, LONGEST_JAPANESE_RUN = 2048, LONGEST_UNKNOWN = 24;
constexpr size_t MOST_JAPANESE = 1 << 20, MOST_CLASSES = 1024;
constexpr uint32_t MOST_ENTRIES = 64;
constexpr int64_t COST_STEP = 128, COST_BASE = 16;
constexpr int32_t TABLE_STEP = 32, TABLE_BASE = 1024;

uint32_t uint16_at(const std::string &data, size_t position) {
    return static_cast<unsigned char>(data[position]) | static_cast<unsigned char>(data[position + 1]) << 8;
}

bool is_katakana(char32_t letter) { return (letter >= U'ァ' && letter <= U'ヺ') || letter == U'ー'; }

// Returns the sums of numbers up to each of them.
std::vector<uint32_t> sums(std::string_view numbers) {
    std::vector<uint32_t> sums;
    sums.reserve(numbers.size());
    uint32_t sum = 0;
    for (unsigned char number : numbers) sums.push_back(sum += number);
    return sums;
}

template <typename Numbers>
uint32_t greatest(const Numbers &numbers) {
    return *std::max_element(numbers.begin(), numbers.end());
}

}  // namespace

JapaneseDictionary::JapaneseDictionary(const std::string &data) {
    if (data.size() < JAPANESE_HEADER || data.compare(0, 4, "KJA1")) refuse_data(JAPANESE, "its header is not as expected");
    size_t words = uint32_at(data, 4), entries = uint32_at(data, 8), sounds = uint32_at(data, 12);
    size_t pairs = uint32_at(data, 16), lefts = uint32_at(data, 20), joined = uint32_at(data, 28);
    rights_ = uint32_at(data, 24);
    before_ = uint16_at(data, 32);
    after_ = uint16_at(data, 34);
    unknown_pair_ = uint16_at(data, 36);
    unknown_cost_ = uint16_at(data, 38);
    bool small = std::max({words, entries, pairs, joined}) <= MOST_JAPANESE && sounds <= 16 * MOST_JAPANESE;
    if (!small || !words || !entries || !pairs ||
        !joined || std::max(lefts, rights_) > MOST_CLASSES || !lefts || !rights_) {
        refuse_data(JAPANESE, "its header is not as expected");
    }
    const size_t size = 5 * words + 4 * entries + sounds + 4 * pairs + 2 * lefts * rights_ + 4 * joined;
    Planes content(JAPANESE, std::string_view(data).substr(JAPANESE_HEADER), size);
    words_ = content.keys(words);
    std::string_view counts = content.bytes(words);
    ends_ = sums(counts);
    std::vector<uint32_t> wide = content.numbers(entries, 2);
    pairs_.assign(wide.begin(), wide.end());
    costs_ = content.bytes(entries);
    sound_ends_ = sums(content.bytes(entries));
    sounds_ = content.bytes(sounds);
    left_ = content.numbers(pairs, 2);
    right_ = content.numbers(pairs, 2);
    for (uint32_t number : content.numbers(lefts * rights_, 2)) {
        table_.push_back((static_cast<int32_t>(number) - TABLE_BASE) * TABLE_STEP);
    }
    joined_ = content.keys(joined);
    auto is_wrong = [](unsigned char count) { return !count || count > MOST_ENTRIES; };
    if (!content.rest().empty() || ends_.back() != entries || std::any_of(counts.begin(), counts.end(), is_wrong) ||
        sound_ends_.back() != sounds || std::max<uint32_t>(greatest(pairs_), unknown_pair_) >= pairs ||
        std::max(greatest(left_), after_) >= lefts || std::max(greatest(right_), before_) >= rights_) {
        refuse_data(JAPANESE, "its parts do not fit");
    }
}

void JapaneseDictionary::words(View text, const HandleWord &handle) const {
    for (size_t start = 0; start < text.size(); start += LONGEST_JAPANESE_RUN) {
        run(text.substr(start, LONGEST_JAPANESE_RUN), start, handle);
    }
}

void JapaneseDictionary::run(View text, size_t offset, const HandleWord &handle) const {
    std::vector<std::vector<size_t>> joined(text.size());
    find_words(text, joined_, [&](size_t length, size_t place, size_t) { joined[place].push_back(length); });
    const std::vector<Node> words = divided(text);
    for (size_t first = 0; first < words.size();) {
        size_t last = first + 1;
        const size_t start = words[first].start;
        for (size_t each = first; each < std::min(first + LONGEST_WORD, words.size()); each++) {
            if (words[each].entry < 0 && !is_katakana(text[words[each].start])) break;
            const std::vector<size_t> &lengths = joined[start];
            if (std::count(lengths.begin(), lengths.end(), words[each].end - start)) last = each + 1;
        }
        Text kana;
        for (size_t each = first; each < last; each++) kana += reading(text, words[each]);
        handle(offset + words[last - 1].end, kana::phonemes(kana));
        first = last;
    }
}

// Returns the words on the cheapest way.
std::vector<JapaneseDictionary::Node> JapaneseDictionary::divided(View text) const {
    std::vector<Node> all;
    std::vector<std::vector<size_t>> ending(text.size() + 1);
    std::vector<std::vector<Node>> starting = nodes(text);
    for (size_t place = 0; place < text.size(); place++) {
        if (place && ending[place].empty()) continue;
        for (Node &node : starting[place]) {
            const uint32_t left = left_[node.pair];
            if (!place) node.total = connection(left, before_);
            for (size_t each : ending[place]) {
                const int64_t through = connection(left, right_[all[each].pair]) + all[each].total;
                if (node.before >= 0 && through >= node.total) continue;
                node.total = through;
                node.before = static_cast<int64_t>(each);
            }
            node.total += node.cost;
            ending[node.end].push_back(all.size());
            all.push_back(node);
        }
    }
    int64_t best = -1, least = 0;
    for (size_t each : ending.back()) {
        const int64_t total = connection(after_, right_[all[each].pair]) + all[each].total;
        if (best >= 0 && total >= least) continue;
        best = static_cast<int64_t>(each);
        least = total;
    }
    std::vector<Node> words;
    for (; best >= 0; best = words.back().before) words.push_back(all[static_cast<size_t>(best)]);
    std::reverse(words.begin(), words.end());
    return words;
}

// Returns the words of the dictionary that begin at each place, and unknown words in katakana and where none
// does: a character, in katakana also two and all of a run.
std::vector<std::vector<JapaneseDictionary::Node>> JapaneseDictionary::nodes(View text) const {
    std::vector<std::vector<Node>> starting(text.size());
    std::vector<bool> known(text.size());
    find_words(text, words_, [&](size_t length, size_t place, size_t number) {
        known[place] = true;
        for (size_t entry = number ? ends_[number - 1] : 0; entry < ends_[number]; entry++) {
            const int64_t cost = (static_cast<unsigned char>(costs_[entry]) - COST_BASE) * COST_STEP;
            starting[place].push_back({place, place + length, static_cast<int64_t>(entry), pairs_[entry], cost});
        }
    });
    size_t run = 0;
    for (size_t place = text.size(); place--;) {
        run = is_katakana(text[place]) ? run + 1 : 0;
        if (known[place] && !run) continue;
        std::set<size_t> lengths = {1};
        if (run > 1 && run <= LONGEST_UNKNOWN) lengths.insert({2, run});
        for (size_t length : lengths) {
            starting[place].push_back({place, place + length, -1, unknown_pair_, unknown_cost_});
        }
    }
    return starting;
}

// Returns a word in kana; as it is written if its entry has no reading.
Text JapaneseDictionary::reading(View text, const Node &node) const {
    if (node.entry >= 0) {
        const auto entry = static_cast<size_t>(node.entry);
        const size_t first = entry ? sound_ends_[entry - 1] : 0;
        Text found = kana::decoded(std::string_view(sounds_).substr(first, sound_ends_[entry] - first));
        if (!found.empty()) return found;
    }
    return Text(text.substr(node.start, node.end - node.start));
}

}  // namespace kokoro::text
