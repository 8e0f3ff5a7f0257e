#include "words.h"

#include <algorithm>

#include "../base/characters.h"

namespace kokoro {

namespace {

// Sets the words' phonemes with the spaces between them, the span of each word, and what is left out.
// As in kokoro's `KPipeline.tokens_to_ps`, spaces at both ends are not spoken.
void join_words(const std::vector<Word> &words, Passage &passage) {
    std::u32string &joined = passage.phonemes;
    for (const Word &word : words) {
        std::u32string_view phonemes;
        if (word.phonemes) phonemes = *word.phonemes;
        if (joined.empty()) phonemes = strip_start(phonemes);
        bool spaced = !word.whitespace.empty();
        if (!spaced && !phonemes.empty() && phonemes.back() == U' ') {
            phonemes.remove_suffix(1);
            spaced = true;
        }
        spaced = spaced && (!joined.empty() || !phonemes.empty());
        size_t first = joined.size(), end = first + phonemes.size();
        if (!phonemes.empty()) passage.words.push_back({word.text, first, end, spaced, passage.text.size()});
        if (!word.phonemes && !strip(word.text).empty()) passage.unspoken.push_back({word.text, passage.text.size()});
        joined += phonemes;
        if (spaced) joined += U' ';
        passage.text += word.text + word.whitespace;
    }
    joined.resize(strip_end(joined).size());
    auto &spans = passage.words;
    while (!spans.empty() && spans.back().first >= joined.size()) spans.pop_back();
    for (WordSpan &span : spans) {
        span.spaced = span.spaced && span.end < joined.size();
        span.end = std::min(span.end, joined.size());
    }
}

}  // namespace

void add_link(Passage &passage, const Link &link) {
    const size_t shift = link.before.size();
    for (WordSpan &word : passage.words) {
        word.first += shift;
        word.end += shift;
    }
    const bool spaced = link.is_open && link.is_spaced;
    if (spaced && !passage.words.empty()) {
        WordSpan &last = passage.words.back();
        last.spaced = last.end == shift + passage.phonemes.size();
    }
    passage.phonemes = link.before + passage.phonemes + (spaced ? U" " : U"") + link.after;
}

Passage read_segment(const Segment &segment) {
    Passage passage{segment.phonemes, {}, {}, {}, segment.voice, segment.speed, segment.pause};
    if (!segment.words.empty()) {
        passage.phonemes.clear();
        join_words(segment.words, passage);
    }
    return passage;
}

}  // namespace kokoro
