#include "rules.h"

#include <algorithm>

#include "../base/errors.h"
#include "../base/strings.h"
#include "../format/msgpack.h"

namespace kokoro::text {

namespace {

constexpr size_t MOST_SPOKEN = 4096, MOST_RULES = 65536;
// What the stress of a word in its clause is marked with.
constexpr View MARKS[] = {U"ˈ", U"ˌ", U""};
constexpr size_t IS_STRESSED = 0, IS_WEAK = 1, IS_UNSTRESSED = 2;  // levels of a word

}  // namespace

Rules::Step::Step(const Node &node, const Sets &sets) {
    std::vector<Node> parts = node.elements(5, 5, [](const Node &each) { return each; });
    levels = parts[0].integer(0, 7);
    unless = sets.numbered(parts[1]);
    once = parts[2].boolean();
    passes = parts[3].elements(0, MOST_RULES, [&](const Node &each) { return Pass(each, sets); });
    stress = parts[4].elements(0, 1, [&](const Node &each) { return Stress(each, sets); });
}

void Rules::Step::apply(Text &text, size_t level) const {
    if (!(levels >> level & 1)) return;
    auto is_excluded = [&](char32_t letter) { return unless->contains(letter); };
    if (unless && std::any_of(text.begin(), text.end(), is_excluded)) return;
    text = Text(1, EDGE) + text + Text(1, EDGE);
    for (const Pass &each : passes) {
        if (each.apply(text, once) && once) break;
    }
    for (const Stress &each : stress) text = each.apply(text, MARKS[level]);
    text = text.substr(1, text.size() - 2);
}

Rules::Rules(const std::string &data) {
    try {
        Value document = unpack(data);
        read(Node(document, ""));
    } catch (const Error &failure) {
        throw Error(KOKORO_TEXT_DATA_ERROR, "The bundle's data for text are damaged: the rules (" +
                                                std::string(failure.what()) +
                                                "). Copy the bundle again, or export it again.");
    }
}

void Rules::read(const Node &node) {
    auto [sets, respelling, sounds, clause, endings, words, weak, respelled, written] = node.fields(
        "sets", "respelling", "sounds", "clause", "endings", "words", "weak", "respelled", "written");
    Sets own(sets);
    auto read_step = [&](const Node &each) { return Step(each, own); };
    respelling_ = respelling.elements(0, MOST_RULES, read_step);
    sounds_ = sounds.elements(0, MOST_RULES, read_step);
    clause_ = clause.elements(0, MOST_RULES, read_step);
    endings_ = endings.elements(0, 16, [](const Node &each) {
        std::vector<Node> parts = each.elements(3, 3, [](const Node &part) { return part; });
        return Ending{text_of(parts[0]), static_cast<size_t>(parts[1].integer(0, 255)), text_of(parts[2])};
    });
    std::vector<Texts> known = words.elements(2, 2, texts_of);
    words_ = known[0];
    stressed_words_ = known[1];
    auto lists = weak.elements(2, 2, [](const Node &each) { return each.elements(0, MOST_RULES, text_of); });
    weak_ = {lists[0].begin(), lists[0].end()};
    unstressed_ = {lists[1].begin(), lists[1].end()};
    read_respelled(respelled);
    written_.emplace(written);
}

// Reads letters that are not in the words as people write them, those that they write, and lists of words, each
// in the spelling for the rules, or "word=spelling".
void Rules::read_respelled(const Node &node) {
    std::vector<Node> parts = node.elements(3, 3, [](const Node &each) { return each; });
    Text letters = text_of(parts[0]), plain = text_of(parts[1]);
    letters.resize(std::min(letters.size(), plain.size()));
    for (const Text &list : parts[2].elements(0, MOST_RULES, text_of)) {
        for (View each : split(list, U' ')) {
            size_t end = std::min(each.find(U'='), each.size());
            Text word(each.substr(0, end));
            Text spelling(end + 1 < each.size() ? each.substr(end + 1) : View(word));
            for (char32_t &letter : word) {
                size_t place = letters.rfind(letter);
                if (place != Text::npos) letter = plain[place];
            }
            respelled_[word] = spelling;
        }
    }
}

std::vector<Word> Rules::words(View text) {
    return read_clauses(text, [this](const Clause &clause) { return clause_words(clause); },
                        written_->abbreviations);
}

// Makes one token of those of a number or a form that has spaces. Returns the texts of the tokens.
std::vector<Text> Rules::join_forms(Clause &clause) {
    std::vector<View> words;
    for (const ClauseToken &token : clause) words.push_back(token.word);
    Clause found;
    std::vector<Text> texts;
    size_t place = 0;
    for (size_t count : written_->counts(words)) {
        found.push_back(clause[place]);
        texts.push_back(clause[place++].word);
        for (; --count; place++) {
            texts.back() += U' ' + clause[place].word;
            found.back().word += found.back().space + clause[place].word;
            found.back().space = clause[place].space;
        }
    }
    clause = std::move(found);
    return texts;
}

std::vector<Word> Rules::clause_words(Clause clause) {
    std::vector<size_t> counts;
    std::vector<Text> words;
    for (const Text &text : join_forms(clause)) {
        const std::vector<Text> &own = written_->words(text);
        counts.push_back(own.size());
        words.insert(words.end(), own.begin(), own.end());
    }
    for (Text &word : words) {
        // The last word of a clause is stressed, whatever it is.
        word = spoken_word(word, &word == &words.back() ? IS_STRESSED : level_of(word));
    }
    Text sounds = join(words, U" ");
    for (const Step &step : clause_) step.apply(sounds, IS_STRESSED);
    std::vector<View> parts = split(sounds, U' ');
    std::vector<Word> found;
    size_t place = 0;
    for (size_t number = 0; number < clause.size(); number++) {
        Text phonemes;
        for (size_t count = 0; count < counts[number] && place < parts.size(); count++) {
            if (count) phonemes += U' ';
            phonemes += parts[place++];
        }
        found.push_back({clause[number].word, phonemes, clause[number].space});
    }
    return found;
}

size_t Rules::level_of(const Text &word) const {
    return unstressed_.count(word) ? IS_UNSTRESSED : weak_.count(word) ? IS_WEAK : IS_STRESSED;
}

const Text &Rules::spoken_word(const Text &word, size_t level) {
    auto &known = spoken_[level];
    auto found = known.find(word);
    if (found != known.end()) return found->second;
    if (known.size() == MOST_SPOKEN) known.clear();
    return known.emplace(word, spoken(word, level)).first->second;
}

Text Rules::spoken(const Text &word, size_t level) const {
    auto known = words_.find(word);
    if (known != words_.end() && !known->second.empty()) return known->second;
    known = stressed_words_.find(word);
    if (level == IS_STRESSED && known != stressed_words_.end() && !known->second.empty()) return known->second;
    for (const Ending &each : endings_) {
        if (ends_with(word, each.ending) && word.size() >= each.ending.size() + each.least) {
            return sounded(word.substr(0, word.size() - each.ending.size()), level) + each.phonemes;
        }
    }
    return sounded(word, level);
}

Text Rules::sounded(const Text &word, size_t level) const {
    Text sounds = respelled(word);
    for (const Step &step : sounds_) step.apply(sounds, level);
    return sounds;
}

// Returns a word in the spelling that the sounds follow; after an apostrophe it is another word.
Text Rules::respelled(const Text &word) const {
    auto known = respelled_.find(word);
    if (known != respelled_.end() && !known->second.empty()) return known->second;
    size_t start = written_->apostrophe.empty() ? 0 : word.rfind(written_->apostrophe) + 1;
    if (start) return word.substr(0, start) + respelled(word.substr(start));
    Text found = word;
    for (const Step &step : respelling_) step.apply(found, IS_STRESSED);
    return found;
}

}  // namespace kokoro::text
