#include "ssml.h"

#include <algorithm>
#include <charconv>

#include "../base/errors.h"
#include "../base/utf8.h"
#include "../base/pattern.h"
#include "pauses.h"
#include "../base/strings.h"
#include "../generated/tables.h"
#include "../base/xml.h"

namespace kokoro::text {

namespace {

constexpr size_t DEEPEST = 50;
constexpr size_t LONGEST_LANGUAGE = 150;  // characters of a part in another language that does not end a segment
// All others end a segment at both ends, but for `lang` with short text.
constexpr View WITHIN_SENTENCES[] = {U"say-as", U"sub", U"phoneme", U"emphasis"};

// What holds within an element.
struct Setting {
    std::optional<std::string> voice;
    double speed;
    std::optional<std::string> language = {};
};

[[noreturn]] void refuse(const std::string &message) { throw Error(KOKORO_MARKUP_ERROR, message); }

std::string shown(View text) { return encode_utf8(text.substr(0, 60)); }

[[noreturn]] void refuse_value(const Element &element, const char *attribute, const std::string &expected) {
    const Text *found = element.find(decode_utf8(attribute));
    refuse("<" + shown(element.name) + "> of the SSML has the " + attribute + " '" +
           (found ? shown(*found) : "") + "': expected " + expected + ".");
}

const Text &required(const Element &element, const char *attribute) {
    const Text *value = element.find(decode_utf8(attribute));
    if (value && !value->empty()) return *value;
    refuse("<" + shown(element.name) + "> of the SSML has no " + attribute + ": expected one.");
}

double number_of(View written) {
    std::string digits = encode_utf8(written);
    double value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
}

// Returns words with one space between two.
Text with_single_spaces(View text) {
    std::vector<View> words = split(text);
    return join({words.begin(), words.end()}, U" ");
}

void check_attributes(const Element &element) {
    static const Table known(tables::ssml::ATTRIBUTES);
    const Row *names = known.row(element.name);
    if (!names)
        refuse("The SSML has <" + shown(element.name) + ">: expected an element of the supported subset.");
    for (const Attribute &attribute : element.attributes) {
        if (std::find(names->begin(), names->end(), attribute.name) != names->end()) continue;
        refuse("<" + shown(element.name) + "> of the SSML has the attribute '" + shown(attribute.name) +
               "', which is not supported there: leave it out.");
    }
}

// Returns the tag of an element's language, none if it has none.
std::optional<std::string> language_of(const Element &element) {
    static const Pattern pattern(tables::ssml::TAG);
    // With the namespace of xml:lang, or without one.
    auto found = std::find_if(element.attributes.begin(), element.attributes.end(),
                              [](const Attribute &each) { return each.name == U"lang"; });
    if (found == element.attributes.end()) {
        if (element.name == U"lang") refuse("<lang> of the SSML has no xml:lang: expected one.");
        return std::nullopt;
    }
    const Text &tag = found->value;
    if (!pattern.full_match(tag)) {
        refuse("<" + shown(element.name) + "> of the SSML has the language '" + shown(tag) +
               "': expected a tag such as fr.");
    }
    return encode_utf8(tag);
}

// Returns what holds within an element.
Setting setting_within(const Element &element, const Setting &outside) {
    static const Table rates(tables::ssml::RATES);
    static const Pattern pattern(tables::ssml::RATE);
    Setting setting = outside;
    if (auto tag = language_of(element)) setting.language = tag;
    if (element.name == U"voice") setting.voice = encode_utf8(required(element, "name"));
    if (element.name != U"prosody") return setting;
    const Text &rate = required(element, "rate");
    if (const Text *factor = rates.find(rate)) {
        setting.speed *= number_of(*factor);
        return setting;
    }
    Match found;
    if (!pattern.full_match(rate, found)) {
        refuse_value(element, "rate",
                     "x-slow, slow, medium, default, fast, x-fast, a number or a percentage such as 80%");
    }
    setting.speed = setting.speed * number_of(found[1]) / (found[2].empty() ? 1 : 100);
    return setting;
}

Text without_brackets(Text text) {
    std::replace(text.begin(), text.end(), U'[', U'(');
    std::replace(text.begin(), text.end(), U']', U')');
    return text;
}

// Returns the short text of an element with a language, with a control.
Text marked(const Element &element) {
    const std::optional<std::string> tag = language_of(element);
    Text text;
    for (char32_t letter : without_brackets(element.text)) {
        if (!is_space(letter)) {
            text += letter;
        } else if (text.empty() || text.back() != U' ') {
            text += U' ';
        }
    }
    return strip(text).empty() ? text : U"[" + text + U"](lang:" + decode_utf8(*tag) + U")";
}

// Returns the text of an element that changes how its own text is spoken.
Text spoken(const Element &element) {
    static const Pattern sound(tables::ssml::PHONEMES);
    static const Words as_written(tables::ssml::AS_WRITTEN), spelled("characters spell-out digits");
    if (!element.children.empty()) {
        refuse("The SSML has <" + shown(element.children[0].name) + "> within <" + shown(element.name) +
               ">: expected text alone.");
    }
    Text text = with_single_spaces(element.text);
    if (element.name == U"sub") return required(element, "alias");
    if (element.name == U"phoneme") {
        const Text *alphabet = element.find(U"alphabet");
        if (alphabet && *alphabet != U"ipa") refuse_value(element, "alphabet", "ipa");
        const Text &phonemes = required(element, "ph");
        if (!sound.full_match(phonemes)) refuse_value(element, "ph", "phonemes without brackets");
        return U"[" + (text.empty() ? U"-" : without_brackets(text)) + U"](/" + phonemes + U"/)";
    }
    if (element.name == U"emphasis") {
        static const Table stresses(tables::ssml::STRESSES);
        const Text *level = element.find(U"level"), *stress = stresses.find(level ? View(*level) : U"moderate");
        if (!stress) refuse_value(element, "level", "strong, moderate, none, reduced");
        return text.empty() || stress->empty() ? text : U"[" + without_brackets(text) + U"](" + *stress + U")";
    }
    const Text &kind = required(element, "interpret-as");
    if (spelled.has(kind)) return spaced(upper(without(text, U' ')));
    if (!as_written.has(kind)) refuse_value(element, "interpret-as", "a kind of the supported subset");
    return text;
}

// Collects text until a segment ends.
class MarkupReader {
public:
    // Reads the content of an element that may contain others.
    void read(const Element &element, const Setting &setting, size_t depth) {
        if (depth > DEEPEST) refuse("The SSML is nested deeper than 50 elements: expected fewer levels.");
        text_ += element.text;
        for (const Element &child : element.children) {
            check_attributes(child);
            if (std::count(std::begin(WITHIN_SENTENCES), std::end(WITHIN_SENTENCES), child.name)) {
                text_ += spoken(child);
            } else if (child.name == U"lang" && child.children.empty() && child.text.size() <= LONGEST_LANGUAGE) {
                text_ += marked(child);
            } else {
                end_segment(setting);
                if (child.name == U"break") pause(child);
                Setting inner = setting_within(child, setting);
                read(child, inner, depth + 1);
                end_segment(inner);
            }
            text_ += child.tail;
        }
    }

    // Makes a segment of the text since the last one.
    void end_segment(const Setting &setting) {
        Text text = with_single_spaces(text_);
        text_.clear();
        if (text.empty()) return;
        Segment segment;
        segment.phonemes = std::move(text);
        segment.voice = setting.voice, segment.speed = setting.speed, segment.language = setting.language;
        segments.push_back(std::move(segment));
    }

    std::vector<Segment> segments;

private:
    void pause(const Element &element) {
        static const Table strengths(tables::ssml::STRENGTHS);
        const Text *strength = element.find(U"strength"), *time = element.find(U"time");
        const Text *seconds = strengths.find(strength ? View(*strength) : U"medium");
        if (!seconds) refuse_value(element, "strength", "none, x-weak, weak, medium, strong, x-strong");
        double pause = time ? read_seconds(*time) : number_of(*seconds);
        // A pause before all text has no effect.
        if (!segments.empty()) segments.back().pause = std::max(segments.back().pause, pause);
    }

    Text text_;
};

}  // namespace

std::vector<Segment> read_ssml(View markup, double speed) {
    Element root = parse_xml(markup, DEEPEST + 1);
    if (root.name != U"speak") refuse("The SSML begins with <" + shown(root.name) + ">: expected <speak>.");
    check_attributes(root);
    Setting setting{std::nullopt, speed};
    MarkupReader reader;
    reader.read(root, setting, 0);
    reader.end_segment(setting);
    return std::move(reader.segments);
}

}  // namespace kokoro::text
