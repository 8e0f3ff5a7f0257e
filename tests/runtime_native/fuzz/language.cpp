// Feeds the data of a language: rules, or changes of the Chinese dictionary after a byte that is 0, of the
// Japanese one after 1. A text of all kinds is refused with the error of damaged data, or read the same twice, in all its words.
#include <fstream>
#include <iterator>

#include "base/errors.h"
#include "base/inflate.h"
#include "fuzzing.h"
#include "text/chinese_dictionary.h"
#include "text/japanese_dictionary.h"
#include "text/rules.h"

namespace {

constexpr size_t CHANGE = 5;
const std::u32string TEXT =
    U"¿Qué? L'amico 21 3/2 -5 % 1,05 km, dr. K; भारत 12:30 R$ 5,50 XXI guerra cé. Çé d’água “não” "
    U"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

// A dictionary of a bundle.
struct Sound {
    Sound(const std::string &language, size_t size) {
        std::ifstream file(bundle_directory() + "/text/" + language + ".dictionary.bin", std::ios::binary);
        const std::string data(std::istreambuf_iterator<char>(file), {});
        header = data.substr(0, size);
        size_t used = 0;
        // The network of the Chinese dictionary follows its parts.
        REQUIRE(kokoro::inflate(std::string_view(data).substr(size), 32 << 20, content, &used));
        rest = data.substr(size + used);
    }

    std::string header, content, rest;
};

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

// Returns a dictionary with another header and with changed bytes: each change is a place of four bytes and a value.
std::string changed(const Sound &sound, const std::string &changes) {
    std::string header = sound.header, bytes = sound.content;
    for (size_t place = 0; place + CHANGE <= changes.size(); place += CHANGE) {
        size_t where = 0;
        for (size_t each = 0; each + 1 < CHANGE; each++) {
            where = where << 8 | static_cast<unsigned char>(changes[place + each]);
        }
        std::string &part = where < header.size() ? header : bytes;
        part[(where < header.size() ? where : where - header.size()) % part.size()] = changes[place + CHANGE - 1];
    }
    const std::string packed = stored(bytes);
    constexpr size_t PACKED = 20;  // the place of the number of bytes of the parts
    for (size_t each = 0; each < 4 && !sound.rest.empty(); each++) {
        header[PACKED + each] = static_cast<char>(packed.size() >> 8 * each & 0xFF);
    }
    return header + packed + sound.rest;
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

template <typename Dictionary>
std::string by_dictionary(const Sound &sound, const std::string &changes, const std::u32string &text) {
    Dictionary words(changed(sound, changes));
    std::string found;
    size_t last = 0;
    words.words(text, [&](size_t end, const std::optional<std::u32string> &phonemes) {
        REQUIRE(last < end && end <= text.size());
        last = end;
        found += std::to_string(end) + shown(phonemes.value_or(U"?"));
    });
    REQUIRE(last == text.size());
    return found;
}

std::string by_chinese(const std::string &changes) {
    static const Sound &sound = *new Sound("zh", 64);
    return by_dictionary<kokoro::text::ChineseDictionary>(
        sound, changes, U"我们在银行工作歡樂製造機很重要的时候了一二三長大鿿龥");
}

std::string by_japanese(const std::string &changes) {
    static const Sound &sound = *new Sound("ja", 40);
    return by_dictionary<kokoro::text::JapaneseDictionary>(
        sound, changes, U"すもももももももものうち、東京都に住んでいる人々はゝ龥");
}

std::string outcome(const uint8_t *data, size_t size) {
    const std::string bytes(reinterpret_cast<const char *>(data), size);
    try {
        if (data[0] > 1) return by_rules(bytes);
        return data[0] ? by_japanese(bytes.substr(1)) : by_chinese(bytes.substr(1));
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
