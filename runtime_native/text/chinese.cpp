#include "chinese.h"

#include <map>

#include "../base/characters.h"
#include "../base/pattern.h"
#include "../base/strings.h"
#include "../generated/tables.h"
#include "chinese_forms.h"
#include "controls.h"

namespace kokoro::text::chinese {

namespace {

namespace tables = kokoro::tables::chinese;

constexpr View CLOSING = U",.!?:;—…)”", OPENING = U"(“";

// The words of a text, as they are found.
class Collected {
public:
    explicit Collected(View shown) : shown_(shown) {}

    // Adds the word that ends at a place.
    void add(size_t end, Phonemes phonemes) {
        if (end > end_) words_.push_back({Text(shown_.substr(end_, end - end_)), std::move(phonemes), {}});
        end_ = std::max(end, end_);
    }

    // Adds white space after the last word.
    void add_space(size_t end) {
        View space = shown_.substr(end_, end - end_);
        end_ = end;
        if (!space.empty() && words_.empty()) words_.push_back({{}, Text(), {}});
        if (!space.empty()) words_.back().whitespace += space;
        if (contains(space, U'\n')) quoted_ = false;
    }

    // Adds a mark; straight quotes open and close in turn, and a dash stands alone.
    void add_mark(View plain, size_t start, size_t end) {
        static const Table marks(tables::MARKS);
        View mark = plain.substr(start, end - start);
        Text phonemes = starts_with(mark, U"..") ? Text(U"…") : Text(marks.get(mark.substr(0, 1)));
        if (mark == U"\"") {
            phonemes = quoted_ ? U"”" : U"“";
            quoted_ = !quoted_;
        } else if (mark[0] == '-') {
            bool alone = (!start || is_space(plain[start - 1])) && (end >= plain.size() || is_space(plain[end]));
            phonemes = alone || end > start + 1 ? U"—" : U"";
        }
        add(end, phonemes);
    }

    // Returns the words; a space ends the phonemes of one that another follows without white space.
    std::vector<Word> spaced() {
        Word *before = nullptr;
        for (Word &word : words_) {
            bool heard = word.phonemes && !word.phonemes->empty();
            if (before && heard && !contains(CLOSING, word.phonemes->front()) &&
                !contains(OPENING, before->phonemes->back())) {
                *before->phonemes += U' ';
            }
            if (!word.whitespace.empty()) {
                before = nullptr;
            } else if (heard) {
                before = &word;
            }
        }
        return std::move(words_);
    }

private:
    View shown_;
    size_t end_ = 0;
    std::vector<Word> words_;
    bool quoted_ = false;
};

// Adds the words of parts of a text to others.
class Reader {
public:
    Reader(View plain, const ChineseDictionary &dictionary, const std::function<G2p()> &find_english,
           Collected &words)
        : plain_(plain), dictionary_(dictionary), find_english_(find_english), words_(words) {}

    void read(size_t start, size_t end) {
        static const Pattern piece(tables::PIECE);
        Match found;
        while (start < end && piece.match(plain_, start, end, found)) {
            size_t first = start;
            start = found.end();
            bool may_be_form = found.has("english") || found.has("mark") || found.has("other");
            if (auto form = may_be_form ? spoken_form(plain_, first, end) : std::nullopt) {
                // A number begins a word, but 第2 is one.
                if (is_ascii(plain_[first]) && !(first && plain_[first - 1] == U'第')) add_chinese();
                start = form->first;
                add_spoken(start, form->second);
            } else if (found.has("han")) {
                for (size_t place = first; place < start; place++) add_spoken(place + 1, plain_.substr(place, 1));
            } else {
                add_chinese();
                add_other(found, first);
            }
        }
        add_chinese();
    }

private:
    void add_spoken(size_t end, View said) {
        spoken_ += said;
        ends_[spoken_.size()] = end;
    }

    // Adds the words of written forms and characters; one may take in several.
    void add_chinese() {
        Phonemes phonemes = Text();
        bool is_first = true;
        dictionary_.words(spoken_, [&](size_t place, Phonemes part) {
            if (!part) phonemes.reset();
            if (phonemes) *phonemes += (is_first ? U"" : U" ") + *part;
            is_first = false;
            auto end = ends_.find(place);
            if (end == ends_.end()) return;
            words_.add(end->second, phonemes);
            phonemes = Text();
            is_first = true;
        });
        spoken_.clear();
        ends_.clear();
    }

    void add_other(const Match &found, size_t start) {
        if (found.has("english") || found.has("address")) {
            add_english(found[0], start);
        } else if (found.has("space")) {
            words_.add_space(found.end());
        } else if (found.has("mark")) {
            words_.add_mark(plain_, start, found.end());
        } else {
            words_.add(found.end(), std::nullopt);
        }
    }

    void add_english(View text, size_t start) {
        G2p english = find_english_();
        if (!english) return words_.add(start + text.size(), std::nullopt);
        for (const Word &word : english(text)) {
            words_.add(start += word.text.size(), word.phonemes);
            words_.add_space(start += word.whitespace.size());
        }
    }

    View plain_;
    const ChineseDictionary &dictionary_;
    const std::function<G2p()> &find_english_;
    Collected &words_;
    Text spoken_;
    std::map<size_t, size_t> ends_;  // in the text, by those of what is spoken
};

}  // namespace

std::vector<Word> words(View text, const ChineseDictionary &dictionary,
                        const std::function<G2p()> &find_english) {
    static const Table plain_letters(tables::PLAIN);
    auto [shown, controls] = read_controls(text);
    Text plain = plain_letters.translate(shown);
    Collected words(shown);
    Reader reader(plain, dictionary, find_english, words);
    size_t start = 0;
    for (const Control &control : controls) {
        if (!control.phonemes) continue;
        reader.read(start, control.start);
        words.add(control.end, control.phonemes);
        start = control.end;
    }
    reader.read(start, plain.size());
    return words.spaced();
}

}  // namespace kokoro::text::chinese
