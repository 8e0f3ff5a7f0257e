// Rules of spelling: patterns and what replaces them, one after the other.
#pragma once

#include <vector>

#include "../base/pattern.h"

namespace kokoro::text {

class Replacements {
public:
    // Takes programs and a table of `tables.h` with what replaces each; "\1" in it is the first group.
    Replacements(const unsigned char *patterns, const char *written);
    Text apply(View text) const;

private:
    std::vector<std::pair<Pattern, Text>> rules_;
};

}  // namespace kokoro::text
