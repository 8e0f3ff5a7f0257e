// Feeds the data of a language: rules, or changes of the Chinese dictionary after a byte that is 0. A text of all kinds
// is refused with the error of damaged data, or read the same twice, in all its words.
#include <fstream>
#include <iterator>

#include "base/errors.h"
#include "base/inflate.h"
#include "fuzzing.h"
#include "text/chinese_dictionary.h"
#include "text/rules.h"

namespace {

constexpr size_t HEADER = 60, CHANGE = 5;
const std::u32string TEXT =
    U"¿Qué? L'amico 21 3/2 -5 % 1,05 km, dr. K; भारत 12:30 R$ 5,50 XXI guerra cé. Çé d’água “não” "
    U"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const std::u32string CHINESE = U"我们在银行工作歡樂製造機很重要的时候了一二三長大鿿龥";

std::string dictionary() {
    std::ifstream file(bundle_directory() + "/text/zh.dictionary.bin", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
}

// Returns data in a stream of DEFLATE without compression.
std::string stored(const std::string &data) {
    constexpr size_t MOST = 0xFFFF;
    std::string packed;
    for (size_t start = 0; start == 0 || start < data.size(); start += MOST) {
        const size_t size = std::min(MOST, data.size() - start);
        packed += start + size == data.size() ? '\1' : '\0';
        for (size_t each : {size, ~size}) {
            packed += static_cast<char>(each & 0xFF);
            packed += static_cast<char>(each >> 8 & 0xFF);
        }
        packed += data.substr(start, size);
    }
    return packed;
}

// Returns the dictionary with another header and with changed bytes: each change is a place of four bytes and a value.
std::string changed(const std::string &changes) {
    static const std::string &sound = *new std::string(dictionary());
    static const std::string &content = *[] {
        std::string found;
        size_t used = 0;
        REQUIRE(kokoro::inflate(std::string_view(sound).substr(HEADER), 16 << 20, found, &used));
        return new std::string(found);
    }();
    std::string header = sound.substr(0, HEADER), bytes = content;
    for (size_t place = 0; place + CHANGE <= changes.size(); place += CHANGE) {
        size_t where = 0;
        for (size_t each = 0; each + 1 < CHANGE; each++) {
            where = where << 8 | static_cast<unsigned char>(changes[place + each]);
        }
        std::string &part = where < HEADER ? header : bytes;
        part[(where < HEADER ? where : where - HEADER) % part.size()] = changes[place + CHANGE - 1];
    }
    return header + stored(bytes);
}

std::string shown(const std::u32string &text) {
    const std::string bytes = kokoro::encode_utf8(text);
    REQUIRE(kokoro::decode_utf8(bytes) == text);
    return bytes + "\t";
}

std::string by_rules(const std::string &data) {
    kokoro::text::Rules rules(data);
    std::string found;
    std::u32string read;
    for (const kokoro::Word &word : rules.words(TEXT)) {
        found += shown(word.text) + shown(word.phonemes.value_or(U"?"));
        read += word.text + word.whitespace;
    }
    REQUIRE(read == TEXT);
    return found;
}

std::string by_dictionary(const std::string &data) {
    kokoro::text::ChineseDictionary words(data);
    std::string found;
    size_t last = 0;
    words.words(CHINESE, [&](size_t end, const std::optional<std::u32string> &phonemes) {
        REQUIRE(last < end && end <= CHINESE.size());
        last = end;
        found += std::to_string(end) + shown(phonemes.value_or(U"?"));
    });
    REQUIRE(last == CHINESE.size());
    return found;
}

std::string outcome(const uint8_t *data, size_t size) {
    const std::string bytes(reinterpret_cast<const char *>(data), size);
    try {
        return data[0] ? by_rules(bytes) : by_dictionary(changed(bytes.substr(1)));
    } catch (const kokoro::Error &refusal) {
        require_refusal(refusal.code, refusal.what());
        REQUIRE(refusal.code == KOKORO_TEXT_DATA_ERROR);
        return refusal.what();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size) return -1;
    REQUIRE(outcome(data, size) == outcome(data, size));
    return 0;
}
