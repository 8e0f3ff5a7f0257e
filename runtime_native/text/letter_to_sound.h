// Phonemes of a word that no lexicon has: a small network in integers, from left to right.
// `runtime_min/text/letter_to_sound.py` describes it and its file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "../base/unicode.h"

namespace kokoro::text {

class Network;

// Returns a word in the letters a to z and apostrophes; a letter of another script is named.
Text spelling_of(View word);

// Spells words out. Not for several threads at once.
class LetterToSound {
public:
    // Takes the file's content, which is unpacked when the first word is spelled out. Throws TEXT_DATA_ERROR.
    explicit LetterToSound(std::string data);
    ~LetterToSound();

    // Returns a word's phonemes in misaki's alphabet, with stress; not empty if the word has letters.
    const Text &phonemes(View word, bool british);

private:
    Text spelled_out(View word, bool british);

    std::string data_;
    std::unique_ptr<Network> network_;
    std::unordered_map<Text, Text> known_[2];
};

}  // namespace kokoro::text
