#include "unicode.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <unordered_map>

#include "utf8.h"
#include "inflate.h"

namespace kokoro {

namespace {

#pragma clang diagnostic ignored "-Wc23-extensions"
constexpr unsigned char LETTERS[] = {
#embed "../generated/letters.bin"
};
constexpr unsigned char NAMES[] = {
#embed "../generated/names.bin"
};

constexpr size_t PAGE = 256, PAGES = 0x110000 / PAGE, MOST = 4 << 20;
enum Flag {
    ALPHA,
    DECIMAL,
    DIGIT,
    NUMERIC,
    UPPER,
    LOWER,
    TITLE,
    SIGN,
    SILENT,
    BEFORE_SIGMA,
    WITHIN_SIGMA
};

template <size_t size>
std::string inflated(const unsigned char (&data)[size]) {
    std::string content;
    inflate({reinterpret_cast<const char *>(data), size}, MOST, content);
    return content;
}

template <typename Number>
Number number_at(const std::string &data, size_t position) {
    Number number;
    std::memcpy(&number, data.data() + position, sizeof number);
    return number;
}

// Texts by code point, sorted.
class Mapping {
public:
    // Takes a mapping that begins at `position`, and moves past it.
    Mapping(const std::string &data, size_t &position) {
        size_t count = number_at<uint32_t>(data, position);
        size_t gaps = position + 4, lengths = gaps + 4 * count, text = lengths + 2 * count;
        codes_.reserve(count);
        ends_.reserve(count + 1);
        ends_.push_back(0);
        uint32_t code = 0;
        for (size_t index = 0; index < count; index++) {
            codes_.push_back(code += number_at<uint32_t>(data, gaps + 4 * index));
            ends_.push_back(ends_.back() + number_at<uint16_t>(data, lengths + 2 * index));
        }
        texts_ = data.substr(text, ends_.back());
        position = text + ends_.back();
    }

    // Returns the UTF-8 text of a code point, empty if it has none.
    std::string_view find(char32_t code) const {
        auto found = std::lower_bound(codes_.begin(), codes_.end(), code);
        if (found == codes_.end() || *found != code) return {};
        return at(found - codes_.begin());
    }

    std::string_view at(size_t index) const {
        return std::string_view(texts_).substr(ends_[index], ends_[index + 1] - ends_[index]);
    }

    const std::vector<uint32_t> &codes() const { return codes_; }

private:
    std::vector<uint32_t> codes_, ends_;
    std::string texts_;
};

struct Letters {
    std::string data = inflated(LETTERS);
    size_t position = 2 * PAGES + 4 + 2 * PAGE * number_at<uint32_t>(data, 2 * PAGES);
    Mapping lower{data, position}, upper{data, position}, title{data, position}, folded{data, position};
    Mapping decomposed{data, position}, pairs{data, position}, combining{data, position},
        numbers{data, position};
    Mapping ascii{data, position}, bases{data, position};
    std::unordered_map<uint64_t, char32_t> composed;

    Letters() {
        for (size_t index = 0; index < pairs.codes().size(); index++) {
            Text pair = decode_utf8(pairs.at(index));
            composed[static_cast<uint64_t>(pair[0]) << 32 | pair[1]] = pairs.codes()[index];
        }
    }
};

const Letters &letters() {
    static const Letters found;
    return found;
}

struct Names {
    std::string data = inflated(NAMES);
    size_t position = 0;
    Mapping letters{data, position}, signs{data, position};
};

const Names &names() {
    static const Names found;
    return found;
}

bool has(char32_t letter, Flag flag) {
    if (letter >= 0x110000) return false;
    const std::string &data = letters().data;
    size_t page = number_at<uint16_t>(data, 2 * (letter / PAGE));
    return number_at<uint16_t>(data, 2 * PAGES + 4 + 2 * (page * PAGE + letter % PAGE)) >> flag & 1;
}

template <bool (*test)(char32_t)>
bool all(View text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), test);
}

// Returns true if a text has the case of `flag` and no letter of another case.
bool in_case(View text, Flag flag, Flag other) {
    bool cased = false;
    for (char32_t letter : text) {
        if (has(letter, other) || has(letter, TITLE)) return false;
        cased = cased || has(letter, flag);
    }
    return cased;
}

void append(Text &text, const Mapping &mapping, char32_t letter) {
    std::string_view found = mapping.find(letter);
    if (found.empty()) {
        text += letter;
    } else {
        text += decode_utf8(found);
    }
}

Text mapped(View text, const Mapping &mapping) {
    Text result;
    for (char32_t letter : text) append(result, mapping, letter);
    return result;
}

// Returns true if the capital sigma at a place is the last letter of its word.
bool is_final_sigma(View text, size_t place) {
    size_t before = place;
    while (before && has(text[before - 1], WITHIN_SIGMA) && !has(text[before - 1], BEFORE_SIGMA)) before--;
    if (!before || !has(text[before - 1], BEFORE_SIGMA)) return false;
    size_t after = place + 1;
    while (after < text.size() && has(text[after], WITHIN_SIGMA) && !has(text[after], BEFORE_SIGMA)) after++;
    return after == text.size() || !has(text[after], BEFORE_SIGMA);
}

int combining_class(char32_t letter) {
    std::string_view found = letters().combining.find(letter);
    return found.empty() ? 0 : static_cast<int>(decode_utf8(found)[0]);
}

}  // namespace

bool is_alpha(char32_t letter) { return has(letter, ALPHA); }
bool is_decimal(char32_t letter) { return has(letter, DECIMAL); }
bool is_digit(char32_t letter) { return has(letter, DIGIT); }
bool is_numeric(char32_t letter) { return has(letter, NUMERIC); }
bool is_alnum(char32_t letter) { return has(letter, ALPHA) || has(letter, NUMERIC); }
bool is_sign(char32_t letter) { return has(letter, SIGN); }
bool is_silent(char32_t letter) { return has(letter, SILENT); }

bool is_alpha(View text) { return all<is_alpha>(text); }
bool is_decimal(View text) { return all<is_decimal>(text); }
bool is_digit(View text) { return all<is_digit>(text); }
bool is_upper(View text) { return in_case(text, UPPER, LOWER); }
bool is_lower(View text) { return in_case(text, LOWER, UPPER); }
bool is_ascii(View text) {
    return std::all_of(text.begin(), text.end(), [](char32_t letter) { return is_ascii(letter); });
}

bool is_title(View text) {
    bool cased = false, previous = false;
    for (char32_t letter : text) {
        bool capital = has(letter, UPPER) || has(letter, TITLE), small = has(letter, LOWER);
        if ((capital && previous) || (small && !previous)) return false;
        previous = capital || small;
        cased = cased || previous;
    }
    return cased;
}

char32_t simple_lower(char32_t letter) {
    if (letter < 0x80) return letter >= 'A' && letter <= 'Z' ? letter + 32 : letter;
    std::string_view found = letters().lower.find(letter);
    return found.empty() ? letter : decode_utf8(found)[0];
}

Text lower(View text) {
    Text result;
    result.reserve(text.size());
    for (size_t place = 0; place < text.size(); place++) {
        if (text[place] == U'Σ') {
            result += is_final_sigma(text, place) ? U'ς' : U'σ';
        } else if (text[place] < 0x80) {
            result += simple_lower(text[place]);
        } else {
            append(result, letters().lower, text[place]);
        }
    }
    return result;
}

Text upper(View text) { return mapped(text, letters().upper); }

Text capitalize(View text) {
    if (text.empty()) return {};
    Text first;
    append(first, letters().title.find(text[0]).empty() ? letters().upper : letters().title, text[0]);
    return first + lower(text).substr(lower(text.substr(0, 1)).size());
}

Text casefold(View text) { return mapped(text, letters().folded); }

Text nfc(View text) {
    if (is_ascii(text)) return Text(text);
    Text parts = mapped(text, letters().decomposed);
    for (size_t start = 0; start < parts.size();) {
        size_t end = start;
        while (end < parts.size() && combining_class(parts[end])) end++;
        std::stable_sort(parts.begin() + start, parts.begin() + end, [](char32_t one, char32_t other) {
            return combining_class(one) < combining_class(other);
        });
        start = end + 1;
    }
    Text result;
    size_t starter = Text::npos;
    int last = 0;
    for (char32_t part : parts) {
        int own = combining_class(part);
        bool adjacent = starter + 1 == result.size();
        if (starter != Text::npos && (adjacent || last < own)) {
            auto found = letters().composed.find(static_cast<uint64_t>(result[starter]) << 32 | part);
            if (found != letters().composed.end()) {
                result[starter] = found->second;
                continue;
            }
        }
        if (!own) starter = result.size();
        last = own;
        result += part;
    }
    return result;
}

long long number_value(char32_t letter) {
    if (letter >= '0' && letter <= '9') return letter - '0';
    std::string_view found = letters().numbers.find(letter);
    return found.empty() ? 0 : std::stoll(std::string(found));
}

Text ascii_of(char32_t letter) {
    return letter < 0x80 ? Text(1, letter) : decode_utf8(letters().ascii.find(letter));
}

Text base_of(char32_t letter) {
    std::string_view found = letters().bases.find(letter);
    return found.empty() ? ascii_of(letter) : decode_utf8(found);
}

Text letter_name(char32_t letter) {
    if (letter >= 0xAC00 && letter <= 0xD7A3) {
        static const char32_t *const FIRST[] = {U"g", U"gg", U"n", U"d",  U"dd", U"r", U"m",
                                                U"b", U"bb", U"s", U"ss", U"",   U"j", U"jj",
                                                U"c", U"k",  U"t", U"p",  U"h"};
        static const char32_t *const VOWELS[] = {U"a",   U"ae", U"ya", U"yae", U"eo", U"e",  U"yeo",
                                                 U"ye",  U"o",  U"wa", U"wae", U"oe", U"yo", U"u",
                                                 U"weo", U"we", U"wi", U"yu",  U"eu", U"yi", U"i"};
        static const char32_t *const LAST[] = {
            U"",   U"g",  U"gg", U"gs", U"n",  U"nj", U"nh", U"d",  U"l", U"lg", U"lm", U"lb", U"ls", U"lt",
            U"lp", U"lh", U"m",  U"b",  U"bs", U"s",  U"ss", U"ng", U"j", U"c",  U"k",  U"t",  U"p",  U"h"};
        unsigned number = letter - 0xAC00;
        return Text(FIRST[number / 588]) + VOWELS[number / 28 % 21] + LAST[number % 28];
    }
    std::string_view found = names().letters.find(letter);
    return found.empty() ? U"letter" : decode_utf8(found);
}

Text sign_name(char32_t letter) { return decode_utf8(names().signs.find(letter)); }

}  // namespace kokoro
