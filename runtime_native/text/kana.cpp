#include "kana.h"

#include "../base/strings.h"
#include "../base/utf8.h"
#include "../generated/tables.h"

namespace kokoro::text::kana {

namespace {

namespace tables = kokoro::tables::kana;

constexpr char32_t FIRST = 0x30A0;  // the character of the byte 0

// Returns what ン is before a sound.
Text nasal(View following) {
    static const Table nasals(tables::NASALS);
    return following.empty() ? U"ɴ" : Text(nasals.get(following.substr(0, 1), U"ɴ"));
}

}  // namespace

Text decoded(std::string_view data) {
    Text reading;
    for (unsigned char byte : data) reading += static_cast<char32_t>(FIRST + byte);
    return reading;
}

bool is_voicing(char32_t letter) {
    static const Text marks = decode_utf8(tables::VOICING);
    return contains(marks, letter);
}

char32_t voiced(char32_t letter, char32_t mark) {
    static const Text marks = decode_utf8(tables::VOICING);
    static const Table with_mark(tables::VOICED), with_other(tables::HALF_VOICED);
    const Text *found = (marks.find(mark) % 2 ? with_other : with_mark).find(View(&letter, 1));
    return found ? (*found)[0] : 0;
}

std::optional<Text> phonemes(View written) {
    static const Table sounds(tables::SOUNDS), katakana(tables::KATAKANA);
    static const Text small = decode_utf8(tables::SMALL);
    Text letters = katakana.translate(written), found;
    for (size_t place = 0; place < letters.size(); place++) {
        View one = View(letters).substr(place, 1), two = View(letters).substr(place, 2);
        View following = two.substr(1);
        const Text *sound = sounds.find(one);
        if (one == U"ン") {
            found += nasal(sounds.get(following));
        } else if (!sound) {
            return std::nullopt;
        } else if (const Text *both = following.empty() ? nullptr : sounds.find(two)) {
            found += *both;
            place++;
        } else if (!following.empty() && contains(small, following) && !contains(U"ッー", one)) {
            found += sound->substr(0, sound->size() - 1) + *sounds.find(following);
            place++;
        } else if (!contains(small, one)) {
            found += *sound;
        }
    }
    return found;
}

}  // namespace kokoro::text::kana
