#include "lexicon.h"

#include <algorithm>

#include "../base/utf8.h"
#include "../base/hashing.h"
#include "../base/inflate.h"
#include "../base/strings.h"
#include "planes.h"

namespace kokoro::text {

namespace {

constexpr size_t LEXICON_HEADER = 20, MOST_BLOCKS = 512, MOST_FOUND = 2048, LARGEST_BLOCK = 1 << 20;
constexpr unsigned char FIRST_CODE = 32;
constexpr char LEXICON[] = "the lexicon";

std::vector<std::string_view> lines(std::string_view text) {
    std::vector<std::string_view> found;
    for (size_t start = 0;;) {
        size_t end = text.find('\n', start);
        found.push_back(text.substr(start, end - start));
        if (end == std::string_view::npos) return found;
        start = end + 1;
    }
}

}  // namespace

const Text *Entry::other(View tag) const {
    for (const auto &[own, phonemes] : others) {
        if (own == tag) return &phonemes;
    }
    return nullptr;
}

Lexicon::Lexicon(std::string data) : data_(std::move(data)) {
    if (data_.size() < LEXICON_HEADER || data_.compare(0, 4, "KLX2")) refuse_data(LEXICON, "it is no such file");
    size_t starts[5] = {LEXICON_HEADER};
    for (size_t part = 0; part < 4; part++) starts[part + 1] = starts[part] + uint32_at(data_, 4 + 4 * part);
    if (starts[4] != data_.size() || (starts[3] - starts[2]) % 4) refuse_data(LEXICON, "its parts do not fit");
    std::string_view view = data_;
    if (find_invalid_utf8(view.substr(starts[0], starts[1] - starts[0])) != std::string_view::npos) {
        refuse_data(LEXICON, "its phonemes are not UTF-8");
    }
    phonemes_ = decode_utf8(view.substr(starts[0], starts[1] - starts[0]));
    first_words_ = lines(view.substr(starts[1], starts[2] - starts[1]));
    for (size_t place = starts[2]; place < starts[3]; place += 4) ends_.push_back(uint32_at(data_, place));
    if (first_words_.size() != ends_.size()) refuse_data(LEXICON, "its parts do not fit");
    start_ = starts[3];
}

const Entry *Lexicon::find(View word) {
    if (contains(word, U'\n')) return nullptr;
    std::string key = encode_utf8(word);
    auto known = found_.find(key);
    if (known == found_.end()) {
        if (found_.size() == MOST_FOUND) found_.clear();
        known = found_.emplace(key, search(key)).first;
    }
    return known->second ? &*known->second : nullptr;
}

std::optional<Entry> Lexicon::search(const std::string &word) {
    auto after = std::upper_bound(first_words_.begin(), first_words_.end(), word);
    if (after == first_words_.begin()) return std::nullopt;
    const Block &found = block(after - first_words_.begin() - 1);
    size_t place = found.words.find("\n" + word + "\n");
    if (place == std::string::npos) return std::nullopt;
    size_t line = std::count(found.words.begin(), found.words.begin() + static_cast<long>(place), '\n');
    return entry(lines(found.values)[line]);
}

const Lexicon::Block &Lexicon::block(size_t number) {
    auto known = blocks_.find(number);
    if (known != blocks_.end()) return known->second;
    size_t first = number ? ends_[number - 1] : 0, end = ends_[number];
    std::string content;
    if (end < first || end > data_.size() - start_ ||
        !inflate(std::string_view(data_).substr(start_ + first, end - first), LARGEST_BLOCK, content)) {
        refuse_data(LEXICON, "a block cannot be decompressed");
    }
    size_t middle = std::min(content.find("\n\n"), content.size());
    Block block{"\n" + content.substr(0, middle) + "\n",
                content.substr(std::min(middle + 2, content.size()))};
    if (std::count(block.words.begin(), block.words.end(), '\n') !=
        std::count(block.values.begin(), block.values.end(), '\n') + 2) {
        refuse_data(LEXICON, "a block has more words than phonemes, or fewer");
    }
    if (blocks_.size() == MOST_BLOCKS) blocks_.clear();
    return blocks_.emplace(number, std::move(block)).first->second;
}

Entry Lexicon::entry(std::string_view codes) const {
    Text text;
    for (char code : codes) {
        unsigned char number = static_cast<unsigned char>(code);
        bool known = number >= FIRST_CODE && number - FIRST_CODE < static_cast<int>(phonemes_.size());
        text += known ? phonemes_[number - FIRST_CODE] : number;
    }
    bool silver = starts_with(text, U"?");
    std::vector<View> parts = split(View(text).substr(silver), U'|');
    Entry entry{!silver, Text(parts[0]), {}};
    for (size_t index = 1; index < parts.size(); index++) {
        size_t colon = std::min(parts[index].find(U':'), parts[index].size());
        entry.others.emplace_back(parts[index].substr(0, colon), tail(parts[index], colon + 1));
    }
    return entry;
}

}  // namespace kokoro::text
