#include "bundled.h"

#include <algorithm>

#include "../base/errors.h"
#include "../speech/sentences.h"
#include "../base/utf8.h"
#include "chinese.h"
#include "chinese_dictionary.h"
#include "controls.h"
#include "japanese.h"
#include "japanese_dictionary.h"
#include "pauses.h"
#include "rules.h"
#include "ssml.h"
#include "../base/strings.h"
#include "../generated/tables.h"

namespace kokoro {

using namespace text;

namespace {

// Characters of a text that are read together: at least, for the first part and the others, and at most.
constexpr size_t FIRST_PART = 300, PART = 1000, WINDOW = 3000;
constexpr size_t ENGLISH_FILES = 4;  // keys of a dialect

// Returns where the next part of a text ends, which ends with a sentence.
size_t part_end(View text, size_t wanted) {
    if (text.size() <= WINDOW) return text.size();
    View window = text.substr(0, WINDOW);
    // The last sentence may go on after the window.
    std::vector<std::pair<size_t, size_t>> sentences = find_sentences(window);
    for (size_t index = 1; index < sentences.size(); index++) {
        if (sentences[index].first >= wanted) return sentences[index].first;
    }
    return cut(window);
}

// Languages by the first letter of Kokoro's voices.
const std::map<char, std::string> LANGUAGES = {{'a', "en-us"}, {'b', "en-gb"}, {'e', "es"},
                                               {'f', "fr-fr"}, {'h', "hi"},    {'i', "it"},
                                               {'j', "ja"},    {'p', "pt-br"}, {'z', "zh"}};

// Returns the language of a voice, of a blend that of its first voice, such as "en-gb".
std::string voice_language(const std::string &voice) {
    std::string first = voice.substr(0, voice.find_first_of("+,*"));
    size_t start = std::min(first.find_first_not_of(" \t\n\r\f\v"), first.size());
    auto found = LANGUAGES.find(start < first.size() ? first[start] : '\0');
    if (found != LANGUAGES.end() && first.compare(start + 2 < first.size() ? start + 2 : 0, 1, "_") == 0) {
        return found->second;
    }
    throw Error(KOKORO_VOICE_LANGUAGE_ERROR,
                "The text's language is not known from the voice '" + voice + "': name it, such as en-US.");
}

// Returns the language of Kokoro that is nearest to a letter or a tag of BCP 47; others in lower case.
std::string language_code(const std::string &language) {
    static const std::map<View, const char *> SUBTAGS = {
        {U"en", "en-us"},  {U"eng", "en-us"}, {U"es", "es"},  {U"spa", "es"},  {U"fr", "fr-fr"},
        {U"fra", "fr-fr"}, {U"fre", "fr-fr"}, {U"hi", "hi"},  {U"hin", "hi"},  {U"it", "it"},
        {U"ita", "it"},    {U"ja", "ja"},     {U"jpn", "ja"}, {U"pt", "pt-br"}, {U"por", "pt-br"},
        {U"zh", "zh"},     {U"zho", "zh"},    {U"chi", "zh"}, {U"cmn", "zh"}};
    // CLDR takes their English for nearer to American than to British.
    static const std::set<View> AMERICAN = {U"us", U"as", U"ca", U"gu", U"mh", U"mp", U"ph", U"pr", U"um", U"vi"};
    Text tag = lower(decode_utf8(language, "language"));
    std::replace(tag.begin(), tag.end(), U'_', U'-');
    if (tag.size() == 1 && is_ascii(tag[0])) {
        if (auto letter = LANGUAGES.find(static_cast<char>(tag[0])); letter != LANGUAGES.end()) {
            return letter->second;
        }
    }
    std::vector<View> parts = split(tag, U'-');
    // An extended language such as zh-yue, which is Cantonese.
    bool extended = parts.size() > 1 && parts[1].size() == 3 && !(parts[1][0] >= U'0' && parts[1][0] <= U'9');
    if (extended) parts.erase(parts.begin());
    auto found = SUBTAGS.find(parts[0]);
    std::string code = found == SUBTAGS.end() ? encode_utf8(tag) : found->second;
    auto region = std::find_if(parts.begin() + 1, parts.end(),
                               [](View part) { return part.size() == 2 || part == U"001"; });
    return code == "en-us" && region != parts.end() && !AMERICAN.count(*region) ? "en-gb" : code;
}

// Returns true for a language that is written without spaces.
bool is_segmented(const std::string &language) { return language == "zh" || language == "ja"; }

// Returns the languages of the first letter of a word that is in one of the scripts.
std::vector<std::string> languages_of(View word) {
    static const std::vector<Row> ranges = rows(tables::scripts::RANGES);
    for (char32_t letter : word) {
        for (const Row &range : ranges) {
            if (letter < range[0][0] || letter > range[1][0]) continue;
            std::vector<std::string> languages;
            for (View language : split(range[2])) languages.push_back(encode_utf8(language));
            return languages;
        }
    }
    return {};
}

// Returns the value under a key, null if there is none.
const Value *entry(const Value *map, std::string_view key) {
    if (!map || !map->map()) return nullptr;
    for (const auto &[own, value] : *map->map()) {
        if (own == key) return &value;
    }
    return nullptr;
}

// A segment of text, and how it is read.
struct Reading {
    Segment segment;
    BundledText::G2p g2p;
    bool followed = false;  // another segment follows
    std::optional<Link> link = {};
};

// Gives the parts of segments of text one by one.
class Parts {
public:
    Parts(Request request, std::vector<Reading> segments)
        : request_(std::move(request)), segments_(std::move(segments)) {}

    std::optional<Request> next() {
        if (number_ == segments_.size()) return std::nullopt;
        const auto &[segment, g2p, followed, link] = segments_[number_];
        View rest = View(segment.phonemes).substr(position_);
        size_t end = part_end(rest, position_ ? PART : FIRST_PART);
        View part = rest.substr(0, end);
        bool last = end == rest.size();
        Segment spoken = segment;
        spoken.phonemes.clear();
        spoken.words = g2p(part);
        if (spoken.words.empty()) spoken.words.push_back({Text(part), std::nullopt, {}});
        spoken.pause = last ? segment.pause : 0;
        position_ = last ? 0 : position_ + end;
        number_ += last;
        Request made = request_;
        made.segments = {std::move(spoken)};
        made.ends_segment = last && followed;
        made.link = link;
        return made;
    }

private:
    Request request_;
    std::vector<Reading> segments_;
    size_t number_ = 0, position_ = 0;
};

}  // namespace

NextRequest BundledText::parts(const TextInput &input, const Request &request,
                               const Capabilities &capabilities) {
    std::vector<Segment> given;
    if (input.ssml) {
        given = read_ssml(input.text, request.speed);
    } else {
        given.emplace_back();
        given[0].phonemes = input.text;
    }
    std::vector<Reading> segments;
    for (const Segment &each : given) {
        for (Segment &segment : read_pauses(each)) segments.push_back({std::move(segment), {}, true});
    }
    if (!segments.empty()) segments.back().followed = false;
    for (const Reading &each : segments) {
        check_pause(each.segment.pause);
        if (each.segment.speed) check_speed(*each.segment.speed);
        if (each.segment.voice) capabilities.style(*each.segment.voice, 1);
    }
    for (Reading &each : segments) {
        const std::string voice = each.segment.voice.value_or(request.voice);
        each.g2p = g2p_of(input, voice, each.segment.language);
        for (const auto &[text, tag] : parts_by_language(each.segment.phonemes)) {
            if (!tag.empty()) find_g2p(language_code(tag));
        }
    }
    auto parts = std::make_shared<Parts>(request, std::move(segments));
    return [parts] { return parts->next(); };
}

NextRequest linked_parts(const Run &run, const BundledText::G2p &g2p, const Request &request) {
    Text after;
    if (!strip(run.following).empty()) {
        for (const Word &word : g2p(run.following)) {
            after += word.phonemes.value_or(Text());
            if (!word.whitespace.empty()) after += U' ';
        }
        after = Text(strip(after)).substr(0, LOOKAHEAD);
    }
    Segment whole;
    whole.phonemes = run.text;
    std::vector<Segment> segments = read_pauses(whole);
    std::vector<Reading> readings;
    const bool is_spaced = !run.text.empty() && is_space(run.text.back());
    for (Segment &segment : segments) {
        const bool at_end = &segment == &segments.back();
        const bool is_open = at_end && !run.is_last && !run.is_apart, is_last = at_end && run.is_last;
        readings.push_back({std::move(segment), g2p, !is_open && !is_last, Link{{}, after, is_open, is_spaced, is_last}});
    }
    auto parts = std::make_shared<Parts>(request, std::move(readings));
    return [parts] { return parts->next(); };
}

BundledText::G2p BundledText::g2p_of(const TextInput &input, const std::string &voice,
                                     const std::optional<std::string> &own) {
    const std::string &language = own ? *own : input.language;
    G2p found = find_g2p(language_code(language.empty() ? voice_language(voice) : language));
    return [this, found, skip_emoji = input.skip_emoji](View text) {
        return in_marked_languages(found, text, skip_emoji);
    };
}

// Returns the words of a text, those of parts that are marked with a language by its G2P.
std::vector<Word> BundledText::in_marked_languages(const G2p &g2p, View text, bool skip_emoji) {
    std::vector<Word> all;
    for (const auto &[part, tag] : parts_by_language(text)) {
        const size_t start = all.empty() ? 0 : part.size() - strip_start(part).size();
        if (start) all.back().whitespace += part.substr(0, start);
        const Text own = part.substr(start);
        const G2p &found = tag.empty() ? g2p : find_g2p(language_code(tag));
        std::vector<Word> words = in_own_languages(found(skip_emoji ? silence_emoji(own) : own), own);
        std::move(words.begin(), words.end(), std::back_inserter(all));
    }
    return all;
}

// Returns words, with those of another language in place of each that is not known and in another script.
std::vector<Word> BundledText::in_own_languages(std::vector<Word> words, View text) {
    auto is_kana = [](char32_t letter) { return letter >= U'ぁ' && letter <= U'ヿ'; };
    const bool has_kana = std::any_of(text.begin(), text.end(), is_kana);
    std::vector<Word> all;
    for (size_t first = 0, last = 0; first < words.size(); first = last) {
        std::vector<std::string> languages;
        if (!words[first].phonemes) languages = languages_of(words[first].text);
        // The unspoken and silent words of its script right after a word that is unspoken.
        auto goes_on = [&](const Word &before, const Word &word) {
            bool is_heard = word.phonemes && !word.phonemes->empty();
            return !languages.empty() && before.whitespace.empty() && !is_heard && languages_of(word.text) == languages;
        };
        Text run = words[first].text;
        for (last = first + 1; last < words.size() && goes_on(words[last - 1], words[last]); last++) {
            run += words[last].text;
        }
        std::vector<std::string> likeliest = languages;
        if (has_kana) std::reverse(likeliest.begin(), likeliest.end());
        auto found = std::find_if(likeliest.begin(), likeliest.end(), [this](auto &each) { return has_data(each); });
        std::vector<Word> others;
        if (found != likeliest.end()) others = find_g2p(*found)(run);
        if (others.empty() || others.back().text.empty()) {
            others.assign(words.begin() + static_cast<ptrdiff_t>(first), words.begin() + static_cast<ptrdiff_t>(last));
        } else {
            others.back().whitespace = words[last - 1].whitespace;
        }
        std::move(others.begin(), others.end(), std::back_inserter(all));
    }
    return all;
}

// Returns true if the bundle has data for a language.
bool BundledText::has_data(const std::string &language) const {
    return entry(entry(&extensions_, "text"), language) || entry(entry(&extensions_, "rules"), language) ||
           entry(entry(&extensions_, "segmented"), language);
}

BundledText::G2p BundledText::find_g2p(const std::string &language) {
    auto known = g2ps_.find(language);
    if (known != g2ps_.end()) return known->second;
    G2p found;
    bool data = entry(entry(&extensions_, "text"), language);
    if (entry(entry(&extensions_, "rules"), language)) {
        auto rules = std::make_shared<Rules>(read_(path("rules", language, nullptr)));
        found = [rules](View text) { return rules->words(text); };
    } else if (entry(entry(&extensions_, "segmented"), language)) {
        const std::string dictionary = read_(path("segmented", language, nullptr));
        found = language == "ja" ? segmented(std::make_shared<JapaneseDictionary>(dictionary), japanese::writing())
                                 : segmented(std::make_shared<ChineseDictionary>(dictionary), chinese::writing());
    } else if (language != "en-us" && language != "en-gb" && !is_segmented(language)) {
        throw Error(KOKORO_LANGUAGE_ERROR, "The bundle has no rules for the language '" + language +
                                               "': export it again, or give phonemes.");
    } else if (!data || is_segmented(language)) {
        throw Error(KOKORO_NO_TEXT_ERROR, "This bundle has no data for text in '" + language +
                                              "': export it with --languages " + language +
                                              ", or give phonemes.");
    } else {
        found = english(language);
    }
    return g2ps_.emplace(language, std::move(found)).first->second;
}

// Returns the G2P of a language that is written without spaces.
template <typename Dictionary>
BundledText::G2p BundledText::segmented(std::shared_ptr<Dictionary> dictionary, const Writing &writing) {
    DivideWords divide = [dictionary](View text, const HandleWord &handle) { dictionary->words(text, handle); };
    return [this, divide, &writing](View text) {
        return segmented_words(text, writing, divide, [this] { return find_english(); });
    };
}

// Returns the bundle's own G2P for English, none if it has none.
BundledText::G2p BundledText::find_english() {
    for (const char *language : {"en-us", "en-gb"}) {
        if (entry(entry(&extensions_, "text"), language)) return find_g2p(language);
    }
    return {};
}

BundledText::G2p BundledText::english(const std::string &language) {
    auto own = [&](const char *key) { return path("text", language, key); };
    EnglishData data{std::make_shared<Lexicon>(read_(own("lexicon"))), shared(taggers_, own("tagger")),
                     shared(homographs_, own("homographs")), shared(spellings_, own("letter_to_sound"))};
    auto dialect = std::make_shared<English>(std::move(data), language == "en-gb");
    return [dialect](View text) { return dialect->words(text); };
}

// Returns a path of an extension of the manifest. Throws MANIFEST_ERROR if it is none, or not that of a
// listed file.
std::string BundledText::path(const char *extension, const std::string &language, const char *key) const {
    const Value *found = entry(entry(&extensions_, extension), language);
    if (key) found = found->map() && found->map()->size() == ENGLISH_FILES ? entry(found, key) : nullptr;
    const std::string *written = found ? found->string() : nullptr;
    if (written && listed_.count(*written)) return *written;
    throw Error(KOKORO_MANIFEST_ERROR,
                "manifest.msgpack: extensions." + std::string(extension) + "." + language +
                    " must name files of the bundle. Copy the bundle again, or export it again.");
}

// Returns what a file has; one that both dialects name is read once.
template <typename Data>
std::shared_ptr<Data> BundledText::shared(std::map<std::string, std::shared_ptr<Data>> &known,
                                          const std::string &path) {
    auto found = known.find(path);
    if (found != known.end()) return found->second;
    return known.emplace(path, std::make_shared<Data>(read_(path))).first->second;
}

}  // namespace kokoro
