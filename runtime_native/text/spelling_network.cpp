#include "spelling_network.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "../base/errors.h"
#include "../base/utf8.h"
#include "../base/hashing.h"
#include "stress.h"
#include "../base/strings.h"

namespace kokoro::text {

namespace {

constexpr int LETTERS_AROUND = 6, AROUND[] = {-4, -3, -2, -1, 1, 2, 3, 4}, WORD_DIVISOR = 8, BEAM = 4;
constexpr size_t HASHED_NAME = 16, COUNTS = 24;
constexpr double COSTS_PER_NAT = 1 << 16;

// The positions of a letter's values, after those of the letters from LETTERS_AROUND before it to LETTERS_AROUND after it.
enum Place {
    HERE = LETTERS_AROUND,
    TO_END = 2 * LETTERS_AROUND + 1,
    FROM_START,
    THIRD_LAST,
    SECOND_LAST,
    LAST,
    VOWELS_AFTER,
    VOWELS_BEFORE,
    LENGTH,
    BEFORE,
    SECOND_BEFORE,
    THIRD_BEFORE,
    STRESSED,
    BRITISH,
    CONSTANT,
    VALUES
};
using Values = std::array<uint64_t, VALUES>;

struct Factor {
    int place;
    uint64_t factor;
};
using Feature = std::vector<Factor>;

// Returns a factor for each value of each combination, and for the constant 1.
std::vector<Feature> factors(const std::vector<std::vector<int>> &combinations, unsigned first) {
    std::vector<Feature> features;
    for (const std::vector<int> &combination : combinations) {
        features.emplace_back();
        for (int place : combination) features.back().push_back({place, multiplier_power(first + place)});
        features.back().push_back({CONSTANT, multiplier_power(first + CONSTANT)});
        first += 60;
    }
    return features;
}

// Returns the places of letters around one, and others before or after them.
std::vector<int> window(int before, int after, std::vector<int> others = {}) {
    for (int place = HERE - before; place <= HERE + after; place++) others.push_back(place);
    return others;
}

std::vector<Feature> spelling_features() {
    std::vector<std::vector<int>> places;
    for (int before = 0; before < 5; before++) {
        for (int after = 0; after < 5; after++) places.push_back(window(before, after));
    }
    places.insert(places.end(), {
                                    window(1, 5),
                                    window(5, 1),
                                    window(5, 0),
                                    window(0, 5),
                                    window(0, 6),
                                    window(6, 0),
                                    {HERE, TO_END, LAST, SECOND_LAST, THIRD_LAST},
                                    {HERE, TO_END, LAST, SECOND_LAST},
                                    {HERE, TO_END, LAST},
                                    {HERE - 1, HERE, HERE + 1, TO_END, VOWELS_AFTER},
                                    {HERE, FROM_START, VOWELS_AFTER, VOWELS_BEFORE},
                                    {HERE, HERE + 1, VOWELS_AFTER, VOWELS_BEFORE, LAST},
                                    {HERE, FROM_START, LENGTH},
                                    {HERE, VOWELS_AFTER, LAST, SECOND_LAST},
                                    {HERE - 2, HERE - 1, HERE, HERE + 1, HERE + 2, VOWELS_AFTER},
                                    {HERE, TO_END, FROM_START},
                                    {HERE - 1, HERE, HERE + 1, VOWELS_AFTER, LAST, SECOND_LAST, THIRD_LAST},
                                    {BRITISH},
                                    {BRITISH, HERE},
                                    window(1, 1, {BRITISH}),
                                    window(2, 2, {BRITISH}),
                                    window(0, 2, {BRITISH}),
                                    window(2, 0, {BRITISH}),
                                    {BRITISH, HERE, TO_END, LAST},
                                    {BRITISH, HERE, HERE + 1, VOWELS_AFTER, LAST},
                                });
    return factors(places, 1000);
}

// The features that the phonemes before decide, too.
std::vector<Feature> history_features() {
    return factors(
        {
            {BEFORE, HERE},
            {BEFORE, SECOND_BEFORE, HERE},
            {BEFORE, SECOND_BEFORE, THIRD_BEFORE, HERE},
            {BEFORE, HERE, HERE + 1},
            {BEFORE, SECOND_BEFORE, HERE, HERE + 1, HERE + 2},
            {STRESSED, HERE, VOWELS_AFTER},
            {STRESSED, BEFORE, HERE, HERE + 1, VOWELS_AFTER},
            {STRESSED, HERE, HERE + 1, VOWELS_AFTER, VOWELS_BEFORE},
            {BEFORE, HERE - 1, HERE, HERE + 1},
            {SECOND_BEFORE, THIRD_BEFORE, HERE},
            {STRESSED, HERE, TO_END, LAST, SECOND_LAST},
            {STRESSED, HERE - 1, HERE, HERE + 1, VOWELS_AFTER},
            window(1, 1, {BEFORE, SECOND_BEFORE}),
            window(0, 1, {BEFORE, SECOND_BEFORE, THIRD_BEFORE}),
            {STRESSED, BEFORE, HERE, TO_END, LAST, SECOND_LAST},
            {BRITISH, BEFORE, HERE},
            {BRITISH, STRESSED, HERE, VOWELS_AFTER},
        },
        9000);
}

uint64_t hash_of(const Feature &feature, const Values &values) {
    uint64_t hash = 0;
    for (auto [place, factor] : feature) hash += factor * values[place];
    return hash;
}

std::vector<Values> letter_values(const std::string &word, bool british) {
    const int count = static_cast<int>(word.size());
    auto code = [&](int place) -> uint64_t { return place < 0 || place >= count ? 0 : word[place] - '&'; };
    std::vector<uint64_t> vowels;  // groups of vowels that begin up to each letter
    for (int place = 0; place < count; place++) {
        auto vowel = [&](int at) {
            return at >= 0 && std::string_view("aeiouy").find(word[at]) != std::string::npos;
        };
        bool begins = vowel(place) && !vowel(place - 1);
        vowels.push_back((vowels.empty() ? 0 : vowels.back()) + begins);
    }
    std::vector<Values> all(count, Values{});
    for (int place = 0; place < count; place++) {
        Values &values = all[place];
        for (int index = 0; index <= 2 * LETTERS_AROUND; index++) values[index] = code(place + index - LETTERS_AROUND);
        values[TO_END] = std::min(count - place, 8), values[FROM_START] = std::min(place, 8);
        values[THIRD_LAST] = code(count - 3), values[SECOND_LAST] = code(count - 2),
        values[LAST] = code(count - 1);
        values[VOWELS_AFTER] = std::min<uint64_t>(vowels.back() - vowels[place], 5);
        values[VOWELS_BEFORE] = std::min<uint64_t>(vowels[place], 5);
        values[LENGTH] = std::min(count, 12), values[CONSTANT] = 1, values[BRITISH] = 1 + british;
    }
    return all;
}

int64_t positive(int64_t value) { return std::max<int64_t>(value, 0); }

}  // namespace

Network::Network(const std::string &data) {
    auto refuse = [] {
        throw Error(KOKORO_TEXT_DATA_ERROR,
                    "The bundle's data for text are damaged: the parts of the weights that spell "
                    "out words do not fit. Copy the bundle again, or export it again.");
    };
    if (data.size() < COUNTS) refuse();
    uint64_t features = uint32_at(data, 0);
    width_ = uint32_at(data, 4), hidden_ = uint32_at(data, 8), count_ = uint32_at(data, 12);
    shift_ = uint32_at(data, 16), units_ = uint32_at(data, 20);
    size_t inputs = (std::size(AROUND) + 2) * width_;
    if (std::max({features, uint64_t{width_}, uint64_t{hidden_}, uint64_t{count_}}) > 1 << 20 ||
        shift_ > 62 || !units_ || !count_ ||
        COUNTS + (HASHED_NAME + 8) * count_ + 4 * features + 4 * hidden_ + (features + 1) * width_ +
                (inputs + count_) * hidden_ >
            data.size()) {
        refuse();
    }
    size_t position = COUNTS;
    auto take = [&](auto &numbers, size_t count) {
        numbers.resize(count);
        std::memcpy(numbers.data(), data.data() + position, count * sizeof numbers[0]);
        position += count * sizeof numbers[0];
    };
    for (size_t index = 0; index < count_; index++, position += HASHED_NAME) {
        classes_.push_back(decode_utf8(std::string_view(data.c_str() + position).substr(0, HASHED_NAME)));
        stressing_.push_back(contains(classes_.back(), PRIMARY));
    }
    take(known_, features);
    for (size_t index = 1; index < features; index++) known_[index] += known_[index - 1];
    take(hidden_biases_, hidden_);
    for (auto &biases : class_biases_) take(biases, count_);
    take(embeddings_, (features + 1) * width_);
    take(first_, inputs * hidden_);
    take(last_, hidden_ * count_);
}

void Network::add_embedding(uint64_t hash, Sums &sums) const {
    uint32_t key = static_cast<uint32_t>(hash >> 32);
    auto found = std::lower_bound(known_.begin(), known_.end(), key);
    bool known = found != known_.end() && *found == key;
    const int8_t *row = embeddings_.data() + (known ? found - known_.begin() : known_.size()) * width_;
    for (size_t index = 0; index < width_; index++) sums[index] += row[index];
}

// Returns what the letters around each letter, and all of the word, add to its hidden units.
std::vector<Network::Sums> Network::letters_around(const std::vector<Sums> &sums) const {
    Sums word(width_);
    for (const Sums &own : sums) {
        for (size_t index = 0; index < width_; index++) word[index] += positive(own[index]);
    }
    for (int64_t &each : word) each /= WORD_DIVISOR;
    std::vector<Sums> around;
    for (int place = 0; place < static_cast<int>(sums.size()); place++) {
        Sums added(hidden_biases_.begin(), hidden_biases_.end());
        const int8_t *weights = first_.data() + width_ * hidden_;
        auto add = [&](int64_t value) {
            for (size_t unit = 0; value && unit < hidden_; unit++) added[unit] += value * weights[unit];
            weights += hidden_;
        };
        for (int distance : AROUND) {
            int other = place + distance;
            bool inside = other >= 0 && other < static_cast<int>(sums.size());
            for (size_t index = 0; index < width_; index++) add(inside ? positive(sums[other][index]) : 0);
        }
        for (int64_t each : word) add(each);
        around.push_back(std::move(added));
    }
    return around;
}

// Returns the negative logarithms of the classes' likelihoods. They are rounded, because the last bits of exp
// and log are not the same on every machine.
std::vector<int64_t> Network::costs(const Sums &embedded, const Sums &around, bool british) const {
    Sums hidden = around, scores(class_biases_[british].begin(), class_biases_[british].end());
    for (size_t index = 0; index < width_; index++) {
        int64_t value = positive(embedded[index]);
        for (size_t unit = 0; value && unit < hidden_; unit++)
            hidden[unit] += value * first_[index * hidden_ + unit];
    }
    for (size_t unit = 0; unit < hidden_; unit++) {
        int64_t kept = positive(hidden[unit]) >> shift_;
        for (size_t sound = 0; kept && sound < count_; sound++)
            scores[sound] += kept * last_[unit * count_ + sound];
    }
    std::vector<double> costs;
    double best = static_cast<double>(*std::max_element(scores.begin(), scores.end())) / units_, sum = 0;
    for (int64_t score : scores) costs.push_back(best - static_cast<double>(score) / units_);
    for (double cost : costs) sum += std::exp(-cost);
    std::vector<int64_t> rounded;
    for (double cost : costs) rounded.push_back(std::llrint((cost + std::log(sum)) * COSTS_PER_NAT));
    return rounded;
}

struct Network::Path {
    std::vector<int> sounds;
    int64_t cost = 0;
    bool stressed = false;
};

Text Network::phonemes(const std::string &letters, bool british) const {
    static const std::vector<Feature> spelling = spelling_features(), history = history_features();
    std::vector<Values> values = letter_values(letters, british);
    std::vector<Sums> sums;
    for (const Values &own : values) {
        sums.emplace_back(width_);
        for (const Feature &feature : spelling) add_embedding(hash_of(feature, own), sums.back());
    }
    std::vector<Sums> around = letters_around(sums);
    std::vector<Path> paths(1);
    for (size_t place = 0; place < letters.size(); place++) {
        std::vector<std::pair<int64_t, size_t>> ways;
        for (size_t number = 0; number < paths.size(); number++) {
            const Path &path = paths[number];
            for (int back = 0; back < 3; back++) {
                size_t size = path.sounds.size();
                values[place][BEFORE + back] =
                    size > static_cast<size_t>(back) ? path.sounds[size - 1 - back] + 1 : 0;
            }
            values[place][STRESSED] = path.stressed;
            Sums embedded = sums[place];
            for (const Feature &feature : history) add_embedding(hash_of(feature, values[place]), embedded);
            for (int64_t cost : costs(embedded, around[place], british)) {
                ways.emplace_back(path.cost + cost, ways.size());
            }
        }
        size_t kept = std::min<size_t>(BEAM, ways.size());
        std::partial_sort(ways.begin(), ways.begin() + static_cast<long>(kept), ways.end());
        std::vector<Path> next;
        for (size_t way = 0; way < kept; way++) {
            Path path = paths[ways[way].second / count_];
            int sound = static_cast<int>(ways[way].second % count_);
            path.sounds.push_back(sound);
            path.cost = ways[way].first;
            path.stressed = path.stressed || stresses(sound);
            next.push_back(std::move(path));
        }
        paths = std::move(next);
    }
    Text found;
    for (int sound : paths[0].sounds) found += classes_[sound];
    return found;
}

}  // namespace kokoro::text
