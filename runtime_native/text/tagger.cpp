#include "tagger.h"

#include <algorithm>

#include "../base/errors.h"
#include "../base/utf8.h"
#include "../base/hashing.h"
#include "../base/strings.h"

namespace kokoro::text {

namespace {

constexpr size_t REACH = 2, EDGE_LETTERS = 32, CHUNK = 2000, MOST_TYPES = 4096, NAME_BYTES = 8;
constexpr uint8_t TAG_OUTSIDE = 255;
// The features of a word that its neighbours see, by their distance.
const std::vector<int> SEEN[] = {
    {1, 4}, {1, 4, 9, 11}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, {1, 4, 9, 11}, {1, 4}};
// Words and tags that make a feature together, by their positions.
const std::vector<int> PAIRS[] = {{0, 1}, {1, 2}, {0, 2}};
const std::vector<int> CONTEXTS[] = {{1}, {2}, {0, 1}, {2, 3}, {1, 2}, {1, 4}, {2, 4}, {1, 2, 4}, {0, 1, 2}};

char32_t straight(char32_t letter) {
    size_t place = View(U"‘’“”–—").find(letter);
    return place == View::npos ? letter : U"`'\"\"--"[place];
}

Text shape_of(View word) {
    Text shape = is_lower(word) ? U"x" : is_upper(word) ? U"X" : is_upper(word.substr(0, 1)) ? U"T" : U"m";
    if (word.size() == 1) shape += U'1';
    shape += is_alpha(word) ? U'a' : U'n';
    if (std::any_of(word.begin(), word.end(), [](char32_t letter) { return is_digit(letter); }))
        shape += U'd';
    if (contains(word, U'-')) shape += U'-';
    return shape;
}

std::vector<Text> features(View written) {
    Text word(written);
    for (char32_t &letter : word) letter = straight(letter);
    Text small = lower(word), shape = shape_of(word);
    std::vector<Text> found = {U"w" + word, U"l" + small};
    auto ending = [&](size_t length) { return small.substr(small.size() - std::min(length, small.size())); };
    for (char32_t length = 1; length < 6; length++)
        found.push_back(Text{U's', U'0' + length} + ending(length));
    for (char32_t length = 1; length < 5; length++)
        found.push_back(Text{U'p', U'0' + length} + small.substr(0, length));
    found.insert(found.end(), {U"h" + shape, U"e" + shape + ending(2), U"b"});
    return found;
}

// Adds up the values of a combination of features.
uint64_t combined(const std::vector<int> &positions, const std::vector<uint64_t> &values, unsigned first) {
    unsigned constant = static_cast<unsigned>(values.size());
    uint64_t hash = multiplier_power(first + constant);
    for (int position : positions) hash += multiplier_power(first + position) * values[position];
    return hash;
}

}  // namespace

Tagger::Tagger(std::string data) : data_(std::move(data)) {
    rows_ = data_.size() < 8 ? 0 : uint32_at(data_, 0);
    count_ = rows_ ? uint32_at(data_, 4) : 0;
    start_ = 8 + NAME_BYTES * count_;
    if (!rows_ || !count_ || count_ >= TAG_OUTSIDE || start_ + rows_ + rows_ * (count_ / 2) > data_.size()) {
        throw Error(KOKORO_TEXT_DATA_ERROR,
                    "The bundle's data for text are damaged: the tagger's parts do not fit. "
                    "Copy the bundle again, or export it again.");
    }
    for (size_t tag = 0; tag < count_; tag++) {
        std::string name = data_.substr(8 + NAME_BYTES * tag, NAME_BYTES);
        tags_.push_back(decode_utf8(name.substr(0, name.find('\0'))));
    }
}

std::vector<Text> Tagger::tag(const std::vector<View> &words) {
    std::vector<Text> tags;
    for (size_t start = 0; start < words.size(); start += CHUNK) {
        auto first = words.begin() + static_cast<long>(start);
        tag_chunk({first, first + static_cast<long>(std::min(CHUNK, words.size() - start))}, tags);
    }
    return tags;
}

template <typename Number>
void Tagger::add_row(uint64_t hash, std::vector<Number> &scores) const {
    size_t row = (hash >> 32) % rows_, half = count_ / 2;
    Number size = static_cast<unsigned char>(data_[start_ + row]);
    const char *steps = data_.data() + start_ + rows_ + row * half;
    for (size_t tag = 0; tag < half; tag++) {
        unsigned char both = static_cast<unsigned char>(steps[tag]);
        scores[tag] += static_cast<Number>(static_cast<unsigned char>((both >> 4) * size));
        scores[half + tag] += static_cast<Number>(static_cast<unsigned char>((both & 15) * size));
    }
}

const Tagger::Type &Tagger::type_of(View word) {
    Text key(word);
    if (key.size() > 2 * EDGE_LETTERS) key.erase(EDGE_LETTERS, key.size() - 2 * EDGE_LETTERS);
    auto known = types_.find(key);
    if (known != types_.end()) return known->second;
    std::vector<uint64_t> hashes;
    for (const Text &feature : features(key)) hashes.push_back(crc32(encode_utf8(feature)));
    Type type{static_cast<uint32_t>(hashes[1]), {}};
    for (size_t place = 0; place < DISTANCES; place++) {
        type.scores[place].resize(count_);
        for (int feature : SEEN[place]) {
            add_row((hashes[feature] + (uint64_t{place + 1} << 32)) * MULTIPLIER, type.scores[place]);
        }
    }
    return types_.emplace(std::move(key), std::move(type)).first->second;
}

void Tagger::tag_chunk(const std::vector<View> &words, std::vector<Text> &tags) {
    const size_t count = words.size();
    if (types_.size() > MOST_TYPES) types_.clear();
    std::vector<const Type *> types;
    for (size_t place = 0; place < count + 2 * REACH; place++) {
        types.push_back(&type_of(place < REACH || place >= count + REACH ? View() : words[place - REACH]));
    }
    std::vector<std::vector<int32_t>> scores(count, std::vector<int32_t>(count_));
    std::vector<uint64_t> given(count + 2 * REACH, TAG_OUTSIDE);
    auto best = [&](size_t place) {
        return static_cast<size_t>(std::max_element(scores[place].begin(), scores[place].end()) -
                                   scores[place].begin());
    };
    for (size_t place = 0; place < count; place++) {
        for (size_t seen = 0; seen < DISTANCES; seen++) {
            const std::vector<int16_t> &own = types[place + seen]->scores[seen];
            for (size_t tag = 0; tag < count_; tag++) scores[place][tag] += own[tag];
        }
        std::vector<uint64_t> around = {types[place + 1]->lower, types[place + 2]->lower,
                                        types[place + 3]->lower};
        for (unsigned pair = 0; pair < std::size(PAIRS); pair++) {
            add_row(combined(PAIRS[pair], around, 100 + 10 * pair), scores[place]);
        }
        given[place + REACH] = best(place);
    }
    for (size_t place = 0; place < count; place++) {
        std::vector<uint64_t> around = {given[place], given[place + 1], given[place + 3], given[place + 4],
                                        types[place + REACH]->lower};
        for (unsigned context = 0; context < std::size(CONTEXTS); context++) {
            add_row(combined(CONTEXTS[context], around, 200 + 10 * context), scores[place]);
        }
        tags.push_back(tags_[best(place)]);
    }
}

}  // namespace kokoro::text
