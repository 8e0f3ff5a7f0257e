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
constexpr View WITHIN_SENTENCES[] = {U"say-as", U"sub", U"phoneme"};  // all others end a segment at both ends

// What holds within an element.
struct Setting {
    std::optional<std::string> voice;
    double speed;
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

// Returns what holds within an element.
Setting setting_within(const Element &element, const Setting &outside) {
    static const Table rates(tables::ssml::RATES);
    static const Pattern pattern(tables::ssml::RATE);
    if (element.name == U"voice") return {encode_utf8(required(element, "name")), outside.speed};
    if (element.name != U"prosody") return outside;
    const Text &rate = required(element, "rate");
    if (const Text *factor = rates.find(rate)) return {outside.voice, outside.speed * number_of(*factor)};
    Match found;
    if (!pattern.full_match(rate, found)) {
        refuse_value(element, "rate",
                     "x-slow, slow, medium, default, fast, x-fast, a number or a percentage such as 80%");
    }
    return {outside.voice, outside.speed * number_of(found[1]) / (found[2].empty() ? 1 : 100)};
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
        std::replace(text.begin(), text.end(), U'[', U'(');
        std::replace(text.begin(), text.end(), U']', U')');
        return U"[" + (text.empty() ? U"-" : text) + U"](/" + phonemes + U"/)";
    }
    const Text &kind = required(element, "interpret-as");
    if (spelled.has(kind)) return spaced(upper(without(text, U' ')));
    if (!as_written.has(kind)) refuse_value(element, "interpret-as", "a kind of the supported subset");
    return text;
}

// Collects text until a segment ends.
class Reader {
public:
    // Reads the content of an element that may contain others.
    void read(const Element &element, const Setting &setting, size_t depth) {
        if (depth > DEEPEST) refuse("The SSML is nested deeper than 50 elements: expected fewer levels.");
        text_ += element.text;
        for (const Element &child : element.children) {
            check_attributes(child);
            if (std::count(std::begin(WITHIN_SENTENCES), std::end(WITHIN_SENTENCES), child.name)) {
                text_ += spoken(child);
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
        segment.voice = setting.voice, segment.speed = setting.speed;
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
    Reader reader;
    reader.read(root, setting, 0);
    reader.end_segment(setting);
    return std::move(reader.segments);
}

}  // namespace kokoro::text
