#include "pauses.h"

#include <algorithm>
#include <charconv>

#include "../base/errors.h"
#include "../base/utf8.h"
#include "../base/pattern.h"
#include "../base/strings.h"
#include "../generated/tables.h"

namespace kokoro::text {

namespace {

constexpr double LONGEST_PAUSE = 60;

}  // namespace

std::vector<Segment> read_pauses(const Segment &segment) {
    static const Pattern pattern(tables::pauses::PAUSE);
    std::vector<Segment> segments;
    View text = segment.phonemes;
    Text whole;
    size_t position = 0;
    auto add = [&](View part, double pause) {
        whole += part;
        if (!strip(part).empty()) {
            segments.push_back(segment);
            segments.back().phonemes = part;
            segments.back().pause = 0;
        }
        if (!segments.empty()) segments.back().pause = std::max(segments.back().pause, pause);
    };
    pattern.for_each(text, 0, text.size(), [&](const Match &found) {
        add(text.substr(position, found.start() - position), read_seconds(found[1]));
        position = found.end();
    });
    add(text.substr(position), segment.pause);
    if (segments.empty()) {
        segments.push_back(segment);
        segments.back().phonemes = whole;
    }
    return segments;
}

double read_seconds(View written) {
    static const Pattern pattern(tables::pauses::DURATION);
    Match found;
    if (pattern.full_match(strip(written), found) && !found[1].empty()) {
        std::string digits = encode_utf8(found[1]);
        double duration = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), duration);
        if (found[2] == U"ms") duration /= 1000;
        if (duration <= LONGEST_PAUSE) return duration;
    }
    throw Error(KOKORO_MARKUP_ERROR, "The pause '" + encode_utf8(written.substr(0, 58)) +
                                         "' is wrong: expected 0s to 60s, such as 0.5s or 500ms.");
}

}  // namespace kokoro::text
