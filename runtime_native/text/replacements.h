// Rules of spelling: patterns and what replaces them, one after the other.
#pragma once

#include <vector>

#include "pattern.h"

namespace kokoro::text {

class Replacements {
public:
    // Takes a table of `tables.h`; "\1" in a replacement is the first group.
    explicit Replacements(const char *written);
    Text apply(View text) const;

private:
    std::vector<std::pair<Pattern, Text>> rules_;
};

}  // namespace kokoro::text
