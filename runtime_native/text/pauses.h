// Pauses within a text: ``Wait. [pause:0.5s] Now!``.
#pragma once

#include <vector>

#include "../speech/words.h"
#include "../base/unicode.h"

namespace kokoro::text {

// Returns the segments between the pauses of one segment of text; each has the pause after it. A pause before
// all text has no effect. Throws MARKUP_ERROR.
std::vector<Segment> read_pauses(const Segment &segment);

// Returns a duration such as ``0.5s`` or ``500ms`` in seconds. Throws MARKUP_ERROR if it is written in
// another way, or longer than a minute.
double read_seconds(View written);

}  // namespace kokoro::text
