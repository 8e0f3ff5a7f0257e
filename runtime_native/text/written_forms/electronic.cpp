// E-mail addresses, addresses on the web, versions and network addresses.
#include <algorithm>

#include "../../base/strings.h"
#include "../../generated/tables.h"
#include "forms.h"
#include "numbers.h"

namespace kokoro::text::electronic {

namespace {

using namespace numbers;
namespace patterns = tables::electronic;

// Returns a part of an address as a word or, if it cannot be one, as letters.
Text name_of(View part) {
    static const Words known(patterns::WORDS), pairs("me my we go do to in on");
    static const Pattern vowel(patterns::VOWEL);
    Text small = lower(part);
    bool pronounceable = vowel.search(part);
    if (known.has(small) || (part.size() > 3 && pronounceable)) return small;
    if (part.size() == 1 || (part.size() == 2 && !pairs.has(small))) return spaced(upper(part));
    return pronounceable ? small : spaced(upper(part));
}

Text said(View written) {
    static const Pattern part(patterns::PART);
    static const Table names(patterns::NAMES);
    std::vector<Text> spoken;
    for (View each : part.find_all(written)) {
        Text words = is_decimal(each) ? digits(each) : is_alpha(each) ? name_of(each) : Text(names.get(each));
        if (!words.empty()) spoken.push_back(std::move(words));
    }
    return join(spoken, U" ");
}

}  // namespace

Spoken address(const Match &found, bool) {
    View scheme = found["scheme"], written = strip_end(found[0].substr(scheme.size()), U".,:;!?");
    View host = written.substr(0, written.find(U'.'));
    bool letters = std::any_of(host.begin(), host.end(),
                               [](char32_t letter) { return (letter | 32) >= 'a' && (letter | 32) <= 'z'; });
    if (!contains(written, U'@') && scheme.empty() && !letters) return {};
    return said(strip(written, U"/"));
}

Spoken path(const Match &found, bool) { return said(strip_end(found[0], U".")); }

Spoken version(const Match &found, bool) {
    View written = strip_start(found[0], U"vV");
    std::vector<View> parts = split(written, U'.');
    bool address = parts.size() == 4;
    bool apart =
        address && std::any_of(parts.begin(), parts.end(), [](View part) { return part.size() > 2; });
    std::vector<Text> spoken;
    for (View part : parts) spoken.push_back(apart ? digits(part) : cardinal(part));
    Text words = join(spoken, address ? U" dot " : U" point ");
    return written.size() != found[0].size() ? U"version " + words : words;
}

}  // namespace kokoro::text::electronic
