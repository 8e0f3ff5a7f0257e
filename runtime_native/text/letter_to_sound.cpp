#include "letter_to_sound.h"

#include "../base/errors.h"
#include "../base/inflate.h"
#include "spelling_network.h"
#include "stress.h"
#include "../base/strings.h"

namespace kokoro::text {

namespace {

constexpr size_t LETTERS_TOGETHER = 64;  // letters of a long word that are read together
constexpr size_t MOST_SOUNDED = 4096, LARGEST_NETWORK = 1 << 26;

// Returns the Latin letters in a character, or else its name.
Text latin(char32_t character) {
    if (character == U'\'' || character == U'’') return U"'";
    Text letters;
    for (char32_t letter : lower(ascii_of(character))) {
        if (letter >= 'a' && letter <= 'z') letters += letter;
    }
    return letters.empty() && is_alpha(character) ? letter_name(character) : letters;
}

// Returns phonemes with one primary stress, the first there is, or that on the first vowel.
Text with_one_stress(Text phonemes) {
    size_t first = phonemes.find(PRIMARY);
    if (first != Text::npos) {
        for (size_t place = first + 1; place < phonemes.size(); place++) {
            if (phonemes[place] == PRIMARY) phonemes[place] = SECONDARY;
        }
        return phonemes;
    }
    size_t second = phonemes.find(SECONDARY), vowel = phonemes.find_first_of(U"AIOQWYaiuæɑɒɔəɛɜɪʊʌᵊᵻ");
    if (second != Text::npos) {
        phonemes[second] = PRIMARY;
    } else if (vowel != Text::npos) {
        phonemes.insert(vowel, 1, PRIMARY);
    }
    return phonemes;
}

[[noreturn]] void refuse_network(const char *reason) {
    throw Error(KOKORO_TEXT_DATA_ERROR,
                std::string("The bundle's data for text are damaged: the weights that spell out "
                            "words ") +
                    reason + ". Copy the bundle again, or export it again.");
}

}  // namespace

Text spelling_of(View word) {
    Text letters;
    for (char32_t character : lower(word)) {
        for (char32_t letter : latin(character)) {
            size_t size = letters.size();
            if (size < 2 || letters[size - 1] != letter || letters[size - 2] != letter) letters += letter;
        }
    }
    return letters;
}

LetterToSound::LetterToSound(std::string data) : data_(std::move(data)) {
    if (data_.compare(0, 4, "KLS1")) refuse_network("begin otherwise");
}

LetterToSound::~LetterToSound() = default;

const Text &LetterToSound::phonemes(View word, bool british) {
    auto &known = known_[british];
    auto found = known.find(Text(word));
    if (found != known.end()) return found->second;
    if (known.size() == MOST_SOUNDED) known.clear();
    return known.emplace(Text(word), spelled_out(word, british)).first->second;
}

Text LetterToSound::spelled_out(View word, bool british) {
    Text spelling = spelling_of(word);
    if (strip(spelling, U"'").empty()) return {};
    if (!network_) {
        std::string content;
        if (!inflate_zlib(std::string_view(data_).substr(4), LARGEST_NETWORK, content))
            refuse_network("cannot be decompressed");
        network_ = std::make_unique<Network>(content);
    }
    Text phonemes;
    for (size_t start = 0; start < spelling.size(); start += LETTERS_TOGETHER) {
        Text piece = spelling.substr(start, LETTERS_TOGETHER);
        phonemes += network_->phonemes(std::string(piece.begin(), piece.end()), british);
    }
    return with_one_stress(phonemes.empty() ? U"ə" : phonemes);
}

}  // namespace kokoro::text
