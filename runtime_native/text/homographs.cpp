#include "homographs.h"

#include <algorithm>
#include <set>

#include "../base/errors.h"
#include "../base/utf8.h"
#include "../base/hashing.h"
#include "../base/strings.h"

namespace kokoro::text {

namespace {

constexpr size_t WORDS_AROUND = 8, LONGEST_HEAD = 16384;

// Returns the features of a homograph's place that are the same for every word.
std::vector<Text> local_features(View word, const std::vector<Text> &near, size_t here,
                                 const std::vector<Text> &tags, size_t index) {
    auto at = [](const std::vector<Text> &values, size_t place) {
        return place < values.size() ? values[place] : Text();
    };
    auto w = [&](long distance) { return at(near, here + distance); };
    auto t = [&](long distance) { return at(tags, index + distance); };
    auto last = [](const Text &text) { return text.substr(text.size() - std::min<size_t>(3, text.size())); };
    Text form = is_upper(word) ? U"A" : is_lower(word) ? U"a" : U"Aa";
    const Text s = U" ";
    return {
        U"t0 " + t(0),
        U"t-1 " + t(-1),
        U"t1 " + t(1),
        U"t-10 " + t(-1) + s + t(0),
        U"t01 " + t(0) + s + t(1),
        U"t-11 " + t(-1) + s + t(1),
        U"t-2 " + t(-2) + s + t(-1),
        U"t2 " + t(1) + s + t(2),
        U"w-1 " + w(-1),
        U"w1 " + w(1),
        U"w-2 " + w(-2),
        U"w2 " + w(2),
        U"w-2-1 " + w(-2) + s + w(-1),
        U"w12 " + w(1) + s + w(2),
        U"wt " + w(-1) + s + t(1),
        U"tw " + t(-1) + s + w(1),
        U"wt0 " + w(-1) + s + t(0),
        U"t0w " + t(0) + s + w(1),
        U"t-3 " + t(-3) + s + t(-2) + s + t(-1),
        U"s-1 " + last(w(-1)),
        U"s1 " + last(w(1)),
        U"c " + form + (index ? U" False" : U" True"),
    };
}

bool is_verb(const Text &key) { return key == U"VERB" || key == U"VBD"; }

}  // namespace

Homographs::Homographs(std::string data) : data_(std::move(data)) {
    size_t end = data_.substr(0, LONGEST_HEAD).find("\n\n");
    bool sound = end != std::string::npos &&
                 find_invalid_utf8(std::string_view(data_).substr(0, end)) == std::string::npos;
    Text head = sound ? decode_utf8(std::string_view(data_).substr(0, end)) : Text();
    for (View line : split(head, U'\n')) {
        std::vector<View> parts = split(line, U' ');
        sound = sound && parts.size() == 4;
        if (sound) words_[Text(parts[0])] = {Text(parts[1]), Text(parts[2]), parts[3] == U"shared"};
    }
    start_ = end + 2;
    size_t weights = data_.size() - start_;
    if (!sound || !weights || weights & (weights - 1)) {
        throw Error(KOKORO_TEXT_DATA_ERROR,
                    "The bundle's data for text are damaged: the homographs' parts do not fit. "
                    "Copy the bundle again, or export it again.");
    }
}

std::optional<Text> Homographs::choose(const std::vector<View> &words, const std::vector<Text> &tags,
                                       size_t index) const {
    Text word = lower(words[index]);
    auto found = words_.find(word);
    if (found == words_.end()) return std::nullopt;
    const auto &[positive, negative, shared] = found->second;
    static const Words subjects("i he she we they");
    if (index && subjects.has(lower(words[index - 1])) && starts_with(tags[index], U"VB")) {
        // A verb for certain, also in a sentence as short as "He wound."
        for (const Text &key : {positive, negative}) {
            if (is_verb(key)) return key;
        }
    }
    return score(word, words, tags, index, shared) > 0 ? positive : negative;
}

long Homographs::score(const Text &word, const std::vector<View> &words, const std::vector<Text> &tags,
                       size_t index, bool shared) const {
    size_t first = index > WORDS_AROUND ? index - WORDS_AROUND : 0, end = std::min(words.size(), index + WORDS_AROUND + 1);
    std::vector<Text> near;
    for (size_t place = first; place < end; place++) near.push_back(lower(words[place]));
    long sum = weight(word);
    for (const Text &feature : local_features(words[index], near, index - first, tags, index)) {
        sum += weight(word + U" " + feature) + (shared ? weight(feature) : 0);
    }
    for (const Text &text : std::set<Text>(near.begin(), near.end())) sum += weight(word + U" near " + text);
    return sum;
}

long Homographs::weight(const Text &feature) const {
    size_t mask = data_.size() - start_ - 1;
    return static_cast<signed char>(data_[start_ + (crc32(encode_utf8(feature)) & mask)]);
}

}  // namespace kokoro::text
