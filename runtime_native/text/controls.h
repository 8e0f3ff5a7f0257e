// Pronunciations within a text: ``[Kokoro](/kˈOkəɹO/)``, ``[really](+1)``, ``[of](-0.5)``, ``[105](#a#)``.
// ``[bonjour](lang:fr)`` gives the language of a part of the text.
#pragma once

#include <optional>
#include <vector>

#include "pronunciation.h"

namespace kokoro::text {

// A part of the text whose pronunciation is given.
struct Control {
    size_t start, end;
    Phonemes phonemes;             // none if only its stress is given
    std::optional<double> stress;  // as in `restressed`
    Text flags;                    // how its numbers are said, as in `with_flags`
};

// Returns the text with controls that leave emoji and other pictures unspoken, but not numbers (①).
Text silence_emoji(View text);

// Returns the text without controls, and what they mean for which part of it. Of a link,
// ``[text](https://…)``, only the text stays.
std::pair<Text, std::vector<Control>> read_controls(View text);

// Returns the parts of a text, each with the tag of its language, which is empty for that of the text.
std::vector<std::pair<Text, std::string>> parts_by_language(View text);

}  // namespace kokoro::text
