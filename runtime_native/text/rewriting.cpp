#include "rewriting.h"

#include <algorithm>

#include "../base/strings.h"
#include "../base/utf8.h"

namespace kokoro::text {

namespace {

constexpr char32_t FIRST_RUN = 0xF000, LAST_RUN = 0xF8FE, SAME = 0xF8FF;
constexpr size_t LONGEST_RUN = 32, MOST_STEPS = 65536;

[[noreturn]] void refuse(const Node &node, const std::string &expected) {
    refuse_manifest(node.path, expected, "something else");
}

std::vector<Node> elements(const Node &node, size_t at_least = 0, size_t at_most = MOST_STEPS) {
    return node.elements(at_least, at_most, [](const Node &each) { return each; });
}

bool holds(const Side &side, View text, size_t place, size_t step) {
    for (const LetterSet &each : side) {
        if (each.is_run) {
            for (size_t left = LONGEST_RUN; left && each.contains(text[place]); left--) place += step;
        } else if (each.contains(text[place])) {
            place += step;
        } else {
            return false;
        }
    }
    return true;
}

}  // namespace

Text text_of(const Node &node) {
    if (!node.value.string()) refuse(node, "a string");
    return decode_utf8(*node.value.string());
}

Text places_in(const Node &node, size_t count) {
    Text text = text_of(node);
    for (char32_t letter : text) {
        if (letter >= FIRST_PLACE + count && letter <= LAST_RUN) {
            refuse(node, "a text with places for " + std::to_string(count) + " values");
        }
    }
    return text;
}

Text filled(View text, const std::vector<Text> &values) {
    Text result;
    for (char32_t letter : text) {
        bool is_place = letter >= FIRST_PLACE && letter - FIRST_PLACE < values.size();
        result += is_place ? values[letter - FIRST_PLACE] : Text(1, letter);
    }
    return result;
}

bool Contexts::hold(View text, size_t start, size_t end) const {
    return std::any_of(pairs_.begin(), pairs_.end(), [&](const std::pair<Side, Side> &pair) {
        return holds(pair.second, text, end, 1) && holds(pair.first, text, start - 1, -1);
    });
}

Sets::Sets(const Node &node) {
    for (const Node &each : elements(node)) {
        Text text = text_of(each);
        if (text.empty() || !contains(U"+-", text[0]) || text.find_first_of(Text{EDGE, SAME}) != Text::npos)
            refuse(each, "a set of letters");
        sets_.push_back({text.substr(1), text[0] == U'+'});
    }
}

std::optional<LetterSet> Sets::numbered(const Node &node) const {
    int64_t number = node.integer(-1, static_cast<int64_t>(sets_.size()) - 1);
    return number < 0 ? std::nullopt : std::optional(sets_[number]);
}

Side Sets::side(const Node &node) const {
    Side side;
    for (char32_t letter : text_of(node)) {
        if (letter < FIRST_PLACE || letter > LAST_RUN) {
            side.push_back({Text(1, letter), true});
            continue;
        }
        bool is_run = letter >= FIRST_RUN;
        size_t number = letter - (is_run ? FIRST_RUN : FIRST_PLACE);
        if (number >= sets_.size()) refuse(node, "letters and sets of the language");
        side.push_back({sets_[number].letters, sets_[number].has, is_run});
    }
    return side;
}

Contexts Sets::contexts(const Node &node) const {
    Contexts found;
    std::vector<Side> sides;
    for (const Node &each : elements(node)) {
        sides.push_back(side(each));
        for (size_t place = 0; place + 1 < sides.back().size(); place++) {
            if (sides.back()[place].contains(EDGE)) refuse(each, "an edge at the end");
        }
    }
    if (sides.size() % 2) refuse(node, "pairs of sides");
    for (size_t place = 0; place < sides.size(); place += 2) found.add(sides[place], sides[place + 1]);
    return found;
}

Rule::Rule(const Node &node, const Sets &sets) {
    std::vector<Node> parts = elements(node, 5, 5);
    focus_ = sets.side(parts[0]);
    std::vector<Node> maps = elements(parts[2], 0, focus_.size());
    for (size_t place = 0; place < maps.size(); place++) {
        Text to = text_of(maps[place]);
        maps_.emplace_back(focus_[place].has ? focus_[place].letters.substr(0, to.size()) : Text(), to);
    }
    by_ = places_in(parts[1], maps_.size());
    contexts_ = sets.contexts(parts[3]);
    exceptions_ = sets.contexts(parts[4]);
    // Words must remain as many as they are, and no match goes beyond an edge.
    bool forbidden = focus_.empty() || focus_[0].letters == Text(1, SAME) || contains(by_, U' ');
    for (LetterSet &each : focus_) {
        if (!each.has) each.letters += U' ';
        forbidden |= each.is_run || each.contains(U' ') || each.contains(EDGE);
    }
    if (forbidden) refuse(parts[0], "letters without a space");
}

bool Rule::matches(View text, size_t place) const {
    size_t end = place;
    for (const LetterSet &each : focus_) {
        bool same = contains(each.letters, SAME);
        if (same ? text[end] != text[end - 1] : !each.contains(text[end])) return false;
        end++;
    }
    return (contexts_.empty() || contexts_.hold(text, place, end)) && !exceptions_.hold(text, place, end);
}

Text Rule::replacement(View text, size_t place) const {
    std::vector<Text> values;
    for (const auto &[from, to] : maps_) {
        char32_t letter = text[place++];
        size_t number = from.rfind(letter);
        values.emplace_back(1, number == View::npos ? letter : to[number]);
    }
    return filled(by_, values);
}

Pass::Pass(const Node &node, const Sets &sets) {
    for (const Node &each : elements(node, 1)) rules_.emplace_back(each, sets);
}

bool Pass::apply(Text &text, bool once) const {
    Text result;
    size_t place = 1, copied = 0;
    while (place + 1 < text.size()) {
        auto rule = std::find_if(rules_.begin(), rules_.end(),
                                 [&](const Rule &each) { return each.matches(text, place); });
        if (rule == rules_.end()) {
            place++;
            continue;
        }
        result += text.substr(copied, place - copied) + rule->replacement(text, place);
        place = copied = place + rule->size();
        if (once) break;
    }
    if (!copied) return false;
    result += text.substr(copied);
    std::swap(text, result);
    return text != result;
}

Stress::Stress(const Node &node, const Sets &sets) {
    std::vector<Node> parts = elements(node, 3, 3);
    vowels_ = sets.numbered(parts[0]);
    for (const Node &each : elements(parts[1])) {
        std::vector<Node> choice = elements(each, 3, 3);
        if (!choice[0].integer(-9, 9)) refuse(choice[0], "the number of a vowel, from either end");
        choices_.push_back({choice[0].integer(-9, 9), sets.numbered(choice[1]), sets.contexts(choice[2])});
    }
    second_ = parts[2].boolean();
}

Text Stress::apply(View text, View mark) const {
    std::vector<size_t> places;
    for (size_t place = 0; vowels_ && place < text.size(); place++) {
        if (vowels_->contains(text[place])) places.push_back(place);
    }
    std::optional<size_t> stressed = chosen(text, places);
    Text result;
    for (size_t place = 0, vowel = 0; place < text.size(); place++) {
        if (stressed && vowel < places.size() && places[vowel] == place) {
            bool second = second_ && mark == U"ˈ" && place < *stressed && vowel % 2 == 0;
            result += place == *stressed ? mark : second ? U"ˌ" : U"";
            vowel++;
        }
        result += text[place];
    }
    return result;
}

// Returns the place that the first choice which holds for the word gives.
std::optional<size_t> Stress::chosen(View text, const std::vector<size_t> &places) const {
    for (const Choice &choice : choices_) {
        std::vector<size_t> found;
        for (size_t place : places) {
            if (!choice.own || choice.own->contains(text[place])) found.push_back(place);
        }
        size_t end = text.size() - 1;
        if (found.empty() || !(choice.ends.empty() || choice.ends.hold(text, end, end))) continue;
        auto count = static_cast<int64_t>(found.size());
        return found[choice.which > 0 ? std::min(choice.which, count) - 1
                                      : std::max(choice.which + count, int64_t{0})];
    }
    return std::nullopt;
}

}  // namespace kokoro::text
