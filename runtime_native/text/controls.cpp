#include "controls.h"

#include "../base/pattern.h"
#include "../base/strings.h"
#include "../base/utf8.h"
#include "../generated/tables.h"

namespace kokoro::text {

namespace {

// Returns the number of a control of stress: a digit or a half, perhaps with a sign.
double stress_of(View written) {
    double size = ends_with(written, U".5") ? 0.5 : written.back() - U'0';
    return written[0] == '-' ? -size : size;
}

}  // namespace

Text silence_emoji(View text) {
    static const Pattern emoji(tables::forms::emoji);
    return emoji.replace(text, [](const Match &found) {
        View picture = found[0];
        return is_numeric(picture[0]) ? Text(picture) : U"[" + Text(picture) + U"](//)";
    });
}

std::pair<Text, std::vector<Control>> read_controls(View text) {
    static const Pattern control(tables::controls::CONTROL), stress(tables::controls::STRESS);
    Text plain;
    std::vector<Control> controls;
    size_t position = 0;
    control.for_each(text, 0, text.size(), [&](const Match &found) {
        plain += text.substr(position, found.start() - position);
        size_t start = plain.size();
        plain += found[1];
        position = found.end();
        View meaning = found[2];
        bool enclosed = meaning.size() > 1 && meaning.front() == meaning.back();
        if (enclosed && meaning[0] == '/') {
            controls.push_back({start, plain.size(), Text(strip(meaning, U"/")), {}, {}});
        } else if (enclosed && meaning[0] == '#') {
            controls.push_back({start, plain.size(), {}, {}, Text(strip(meaning, U"#"))});
        } else if (stress.full_match(meaning)) {
            controls.push_back({start, plain.size(), {}, stress_of(meaning), {}});
        }
    });
    plain += text.substr(position);
    return {plain, controls};
}

std::vector<std::pair<Text, std::string>> parts_by_language(View text) {
    static const Pattern language(tables::controls::LANGUAGE);
    std::vector<std::pair<Text, std::string>> parts;
    size_t position = 0;
    auto add_unmarked = [&](size_t end) {
        if (end > position) parts.emplace_back(text.substr(position, end - position), "");
    };
    language.for_each(text, 0, text.size(), [&](const Match &found) {
        add_unmarked(found.start());
        parts.emplace_back(found[1], encode_utf8(found[2]));
        position = found.end();
    });
    add_unmarked(text.size());
    return parts;
}

}  // namespace kokoro::text
