// SSML, a subset: `speak`, `break`, `p`, `s`, `say-as`, `sub`, `phoneme`, `prosody` with `rate`, and `voice`.
#pragma once

#include <vector>

#include "../speech/words.h"
#include "../base/unicode.h"

namespace kokoro::text {

// Returns the segments of text of an SSML document; the rates multiply `speed`. Throws MARKUP_ERROR if the
// document is not well-formed, or has an element, attribute or value that is not supported.
std::vector<Segment> read_ssml(View markup, double speed);

}  // namespace kokoro::text
