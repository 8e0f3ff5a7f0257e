#include "arriving.h"

#include <algorithm>

#include "../base/pattern.h"
#include "../base/strings.h"
#include "../generated/tables.h"
#include "../speech/sentences.h"

namespace kokoro::text {

namespace {

// Characters of a clause that is spoken before its sentence is complete.
constexpr size_t SHORTEST_CLAUSE = 8, LONGEST_CLAUSE = 60;
constexpr size_t LONGEST_SENTENCE = 1000;  // characters of a sentence within which its end is looked for

struct Patterns {
    Pattern point{tables::arriving::POINT}, clause{tables::arriving::CLAUSE}, bracket{tables::arriving::BRACKET},
        closed{tables::arriving::CLOSED}, pause{tables::pauses::PAUSE};
};

const Patterns &arriving_patterns() {
    static const Patterns all;
    return all;
}

}  // namespace

void ArrivingText::push(View text, const Take &take) {
    // In parts, so that a long text is not copied once for each sentence.
    for (size_t start = 0; start < text.size(); start += LONGEST_SENTENCE) {
        text_ += text.substr(start, LONGEST_SENTENCE);
        while (auto run = next()) take(std::move(*run));
    }
}

void ArrivingText::flush(const Take &take) {
    if (!strip(text_).empty()) take(taken(text_.size()));
}

void ArrivingText::end(const Take &take) {
    Run rest = taken(text_.size());
    rest.is_last = true;
    take(std::move(rest));
}

std::optional<Run> ArrivingText::next() {
    const size_t end = std::min(text_.size(), LONGEST_SENTENCE);
    Match found;
    while (looked_ < end && arriving_patterns().point.search(text_, looked_, end, found)) {
        looked_ = found.end();
        if (auto run = ended(View(text_).substr(0, looked_))) return run;
    }
    if (text_.size() < LONGEST_SENTENCE) return {};
    return taken(cut(View(text_).substr(0, LONGEST_SENTENCE)));
}

// Returns what is certain to have ended before the last word of a text.
std::optional<Run> ArrivingText::ended(View text) {
    Match found;
    if (arriving_patterns().pause.search(text, found)) {
        Run run = taken(found.end());
        run.is_apart = true;
        return run;
    }
    auto sentences = find_sentences(text, cased_, column_);
    if (sentences.size() > 1) {
        const size_t end = sentences[1].first;
        // A pause may follow.
        if (bracket_is_open(text, end + (text[end] == U'['))) return {};
        return taken(end, text.substr(end));
    }
    if (begun_ || text.size() < SHORTEST_CLAUSE ||
        !arriving_patterns().clause.search(text, SHORTEST_CLAUSE, std::min(text.size(), 2 * LONGEST_CLAUSE), found))
        return {};
    const size_t end = found.end();
    if (end > LONGEST_CLAUSE || arriving_patterns().bracket.search(text, 0, end, found)) return {};
    return taken(end, text.substr(end));
}

Run ArrivingText::taken(size_t end, View following) {
    Run run{text_.substr(0, end), Text(strip(following))};
    text_.erase(0, end);
    looked_ = 0;
    begun_ = true;
    cased_ = cased_ || run.text != lower(run.text);
    const size_t line = run.text.rfind(U'\n');
    column_ = line == Text::npos ? column_ + run.text.size() : run.text.size() - line - 1;
    return run;
}

size_t cut(View text) {
    size_t end = text.rfind(U' ') + 1;
    if (!end) end = text.size();
    const size_t opened = text.substr(0, end).rfind(U'[');
    Match found;
    const bool inside =
        opened != View::npos && opened > 0 && !arriving_patterns().closed.search(text, opened, end, found);
    return inside ? opened : end;
}

}  // namespace kokoro::text
