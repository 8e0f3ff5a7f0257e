// Phonemes to token numbers.
#pragma once

#include <string>

#include "../engine/stage_runner.h"

namespace kokoro {

constexpr int64_t BOUNDARIES = 2;  // tokens before the first and after the last phoneme

// Returns the tokens of phonemes, one a character, between two boundary tokens. Throws UNKNOWN_PHONEMES_ERROR.
Aligned<int64_t> tokenise(const std::u32string &phonemes, const Manifest &manifest);

}  // namespace kokoro
