#include "chinese_dictionary.h"

#include <algorithm>

#include "../base/hashing.h"
#include "../base/strings.h"
#include "../base/utf8.h"
#include "planes.h"
#include "word_table.h"

namespace kokoro::text {

namespace {

constexpr char CHINESE[] = "the Chinese dictionary";
constexpr char32_t FIRST = 0x4E00;  // the first character with readings
constexpr size_t HAN = 0x5200, LONGEST_CHINESE_RUN = 4096, MOST_CHINESE = 1 << 20, CHINESE_HEADER = 64;
constexpr uint32_t ABSENT = 0xFFFF;
// Added to what is not possible: such ways differ by how often that is so alone.
constexpr int64_t EXCLUDED = int64_t{1} << 32;
// A character begins, ends or continues a word, or is one.
constexpr size_t WORD_BEGIN = 0, WORD_END = 1, WORD_MIDDLE = 2, WHOLE_WORD = 3;
// States that may come before a state; the second one wins a tie.
constexpr size_t PLACES_BEFORE[][2] = {
    {WORD_END, WHOLE_WORD}, {WORD_BEGIN, WORD_MIDDLE}, {WORD_BEGIN, WORD_MIDDLE}, {WORD_END, WHOLE_WORD}};

int64_t cost_of(uint32_t value) { return value == ABSENT ? EXCLUDED : value; }

int64_t sum(int64_t cost, int64_t other) {
    cost += other;
    return cost < EXCLUDED ? cost : cost - cost % EXCLUDED;
}

}  // namespace

ChineseDictionary::ChineseDictionary(const std::string &data) {
    if (data.size() < CHINESE_HEADER || data.compare(0, 4, "KZH2")) refuse_data(CHINESE, "its header is not as expected");
    size_t words = uint32_at(data, 4), phrases = uint32_at(data, 8), spoken = uint32_at(data, 12);
    cost_ = uint32_at(data, 16);
    size_t packed = std::min<size_t>(uint32_at(data, 20), data.size() - CHINESE_HEADER);
    if (std::max({words, phrases, spoken}) > MOST_CHINESE || !words || !phrases) {
        refuse_data(CHINESE, "its header is not as expected");
    }
    for (size_t place = 0; place < STATES + STATES * STATES; place++) {
        int64_t cost = cost_of(uint32_at(data.substr(24 + 2 * place, 2) + std::string(2, '\0'), 0));
        if (place < STATES) {
            first_[place] = cost;
        } else {
            steps_[place / STATES - 1][place % STATES] = cost;
        }
    }
    Planes content(CHINESE, std::string_view(data).substr(CHINESE_HEADER, packed),
                   5 * (words + phrases) + 2 * spoken + 10 * HAN);
    words_ = content.keys(words);
    scores_ = content.numbers(words, 1);
    phrases_ = content.keys(phrases);
    ends_ = content.numbers(phrases, 1);
    for (size_t place = 1; place < phrases; place++) ends_[place] += ends_[place - 1];
    spoken_ = content.numbers(spoken, 2);
    single_ = content.numbers(HAN, 2);
    emissions_.resize(HAN);
    for (size_t state = 0; state < STATES; state++) {
        std::vector<uint32_t> row = content.numbers(HAN, 2);
        for (size_t place = 0; place < HAN; place++) emissions_[place][state] = cost_of(row[place]);
    }
    if (find_invalid_utf8(content.rest()) != std::string_view::npos) refuse_data(CHINESE, "its syllables are not UTF-8");
    Text syllables = decode_utf8(content.rest());
    syllables_ = {Text()};
    for (View syllable : split(View(syllables), U'\n')) syllables_.emplace_back(syllable);
    auto known = [&](uint32_t number) { return number < syllables_.size(); };
    if (ends_.back() != spoken || !std::all_of(spoken_.begin(), spoken_.end(), known) ||
        !std::all_of(single_.begin(), single_.end(), known)) {
        refuse_data(CHINESE, "its parts do not fit");
    }
    polyphones_.emplace(data.substr(CHINESE_HEADER + packed));
}

void ChineseDictionary::words(View text, const HandleWord &handle) const {
    for (size_t start = 0; start < text.size(); start += LONGEST_CHINESE_RUN) {
        run(text.substr(start, LONGEST_CHINESE_RUN), start, handle);
    }
}

void ChineseDictionary::run(View text, size_t offset, const HandleWord &handle) const {
    Places scores(text.size()), phrases(text.size());
    for (auto &lengths : scores) lengths[1] = 0;
    find_words(text, words_,
                 [&](size_t length, size_t place, size_t entry) { scores[place][length] = scores_[entry]; });
    find_words(text, phrases_, [&](size_t length, size_t place, size_t entry) {
        size_t first = entry ? ends_[entry - 1] : 0;
        // Hashes of words of different lengths may be equal.
        if (ends_[entry] - first == length) phrases[place][length] = static_cast<int64_t>(first);
    });
    std::vector<size_t> ends = divided(text, scores), undecided;
    std::vector<std::vector<Part>> words;
    size_t start = 0;
    for (size_t end : ends) {
        words.push_back(parts(start, end, phrases));
        for (const Part &part : words.back()) {
            if (!part.first) undecided.push_back(part.place);
        }
        start = end;
    }
    std::map<size_t, Text> chosen = polyphones_->phonemes(text, undecided);
    for (size_t word = 0; word < ends.size(); word++) {
        handle(offset + ends[word], reading(text, words[word], chosen));
    }
}

// Returns the end of each word.
std::vector<size_t> ChineseDictionary::divided(View text, const Places &scores) const {
    std::vector<int64_t> best(text.size() + 1);
    std::vector<size_t> lengths(text.size(), 1), ends;
    for (size_t place = text.size(); place--;) {
        bool is_first = true;
        for (auto [length, score] : scores[place]) {
            int64_t whole = score - cost_ + best[place + length];
            if (is_first || whole >= best[place]) {
                best[place] = whole;
                lengths[place] = length;
            }
            is_first = false;
        }
    }
    size_t start = 0, place = 0;
    while (place < text.size()) {
        size_t end = place + lengths[place];
        if (lengths[place] > 1) {
            add_unknown(text, start, place, scores, ends);
            ends.push_back(end);
            start = end;
        }
        place = end;
    }
    add_unknown(text, start, text.size(), scores, ends);
    return ends;
}

// Adds the end of each word of single characters, some of which may be a word together.
void ChineseDictionary::add_unknown(View text, size_t start, size_t end, const Places &scores,
                                    std::vector<size_t> &ends) const {
    if (end - start < 2 || scores[start].count(end - start)) {
        while (start < end) ends.push_back(++start);
        return;
    }
    for (size_t state : likeliest(text.substr(start, end - start))) {
        start++;
        if (state == WORD_END || state == WHOLE_WORD) ends.push_back(start);
    }
}

// Returns the likeliest state of each character.
std::vector<size_t> ChineseDictionary::likeliest(View text) const {
    Costs costs;
    for (size_t state = 0; state < STATES; state++) {
        costs[state] = sum(first_[state], emissions_[text[0] - FIRST][state]);
    }
    std::vector<std::array<size_t, STATES>> ways;
    for (char32_t letter : text.substr(1)) {
        Costs following;
        std::array<size_t, STATES> way;
        for (size_t state = 0; state < STATES; state++) {
            int64_t own = emissions_[letter - FIRST][state];
            auto through = [&](size_t before) { return sum(costs[before] + steps_[before][state], own); };
            int64_t one = through(PLACES_BEFORE[state][0]), other = through(PLACES_BEFORE[state][1]);
            way[state] = PLACES_BEFORE[state][other <= one];
            following[state] = std::min(one, other);
        }
        costs = following;
        ways.push_back(way);
    }
    std::vector<size_t> states = {costs[WHOLE_WORD] <= costs[WORD_END] ? WHOLE_WORD : WORD_END};
    for (auto way = ways.rbegin(); way != ways.rend(); way++) states.push_back((*way)[states.back()]);
    std::reverse(states.begin(), states.end());
    return states;
}

// Returns the longest phrases of a word from the left, and the characters between them.
std::vector<ChineseDictionary::Part> ChineseDictionary::parts(size_t start, size_t end, const Places &phrases) {
    std::vector<Part> parts;
    while (start < end) {
        Part part{start, 1, std::nullopt};
        for (auto [length, first] : phrases[start]) {
            if (length <= end - start) part.length = length, part.first = static_cast<size_t>(first);
        }
        parts.push_back(part);
        start += part.length;
    }
    return parts;
}

std::optional<Text> ChineseDictionary::reading(View text, const std::vector<Part> &parts,
                                               const std::map<size_t, Text> &chosen) const {
    Text phonemes;
    bool known = true;
    auto add = [&](const Text &syllable) {
        known = known && !syllable.empty();
        phonemes += syllable;
    };
    for (const Part &part : parts) {
        if (part.first) {
            for (size_t place = 0; place < part.length; place++) add(syllables_[spoken_[*part.first + place]]);
        } else {
            auto found = chosen.find(part.place);
            add(found == chosen.end() ? syllables_[single_[text[part.place] - FIRST]] : found->second);
        }
    }
    return known ? std::optional(phonemes) : std::nullopt;
}

}  // namespace kokoro::text
