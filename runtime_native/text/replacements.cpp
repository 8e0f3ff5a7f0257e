#include "replacements.h"

#include "../base/utf8.h"
#include "../base/strings.h"

namespace kokoro::text {

Replacements::Replacements(const unsigned char *patterns, const char *written) {
    for (Row &row : rows(written)) rules_.emplace_back(Pattern(&patterns), row[0]);
}

Text Replacements::apply(View text) const {
    Text result(text);
    for (const auto &rule : rules_) {
        const Text &by = rule.second;
        bool grouped = contains(by, U"\\1");
        result = rule.first.replace(
            result, [&](const Match &found) { return grouped ? replaced(by, U"\\1", found[1]) : by; });
    }
    return result;
}

}  // namespace kokoro::text
