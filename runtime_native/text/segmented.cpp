#include "segmented.h"

#include <map>

#include "../base/characters.h"
#include "controls.h"
#include "kana.h"

namespace kokoro::text {

namespace {

// Places of `Writing::stand_ins`, and the first of a mark that the dictionary knows.
constexpr size_t NUMBER_KIND = 0, FOREIGN_KIND = 1, MARK_KIND = 2, FIRST_KNOWN_KIND = 3;
constexpr View CLOSING = U",.!?:;—…)”ʔ", OPENING = U"(“ʔ";

// The words of a text, as they are found.
class Collected {
public:
    Collected(View shown, const Table &marks) : shown_(shown), marks_(marks) {}

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
        View mark = plain.substr(start, end - start);
        Text phonemes = starts_with(mark, U"..") ? Text(U"…") : Text(marks_.get(mark.substr(0, 1)));
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
    const Table &marks_;
    size_t end_ = 0;
    std::vector<Word> words_;
    bool quoted_ = false;
};

// Letters and forms that are divided into words together.
struct Run {
    Text spoken;
    std::map<size_t, size_t> ends;                    // in the text, by those of what is spoken
    std::map<size_t, std::function<void()>> others;   // what adds the words that a character stands for, by its end

    void add(size_t end, View said) {
        spoken += said;
        ends[spoken.size()] = end;
    }

    // Adds letters; a mark of voiced sounds belongs to the kana before it.
    void add_letters(size_t end, View letters) {
        for (char32_t letter : letters) {
            end++;
            char32_t one = !spoken.empty() && kana::is_voicing(letter) ? kana::voiced(spoken.back(), letter) : 0;
            if (one) {
                ends.erase(spoken.size());
                spoken.pop_back();
                letter = one;
            }
            add(end, View(&letter, 1));
        }
    }
};

// Adds the words of parts of a text to others.
class Reader {
public:
    Reader(View plain, const Writing &writing, const DivideWords &divide, const std::function<G2p()> &find_english,
           Collected &words)
        : plain_(plain), writing_(writing), divide_(divide), find_english_(find_english), words_(words) {}

    void read(size_t start, size_t end) {
        Match found;
        while (start < end && writing_.piece.match(plain_, start, end, found)) {
            size_t first = start;
            start = found.end();
            bool may_be_form = found.has("english") || found.has("mark") || found.has("other");
            if (auto form = may_be_form ? writing_.forms.find(plain_, first, end) : std::nullopt) {
                start = form->first;
                add_form(first, start, form->second);
            } else if (found.has("letters")) {
                run_.add_letters(first, found[0]);
            } else if (found.has("english") || found.has("address")) {
                add(FOREIGN_KIND, [this, first, start] { add_english(first, start); });
            } else if (found.has("mark")) {
                size_t known = writing_.stand_ins.find(plain_[first], FIRST_KNOWN_KIND);
                size_t kind = known == Text::npos ? MARK_KIND : known;
                add(kind, [this, first, start] { words_.add_mark(plain_, first, start); });
            } else {
                flush();
                found.has("space") ? words_.add_space(start) : words_.add(start, std::nullopt);
            }
        }
        flush();
    }

private:
    void add_form(size_t first, size_t end, View said) {
        if (!writing_.stand_ins.empty()) {
            std::vector<Text> parts;
            for (View part : split(said)) parts.push_back(kana::phonemes(part).value_or(Text()));
            return add(NUMBER_KIND, [this, end, spoken = join(parts, U" ")] { words_.add(end, spoken); });
        }
        // A number begins a word.
        if (is_ascii(plain_[first]) && !(first && contains(writing_.glued, plain_[first - 1]))) flush();
        run_.add(end, said);
    }

    // Adds what the dictionary does not read, at once or in its place among the words of a run; `kind` is the place
    // of what stands for it.
    void add(size_t kind, std::function<void()> add) {
        if (writing_.stand_ins.empty()) {
            flush();
            return add();
        }
        run_.spoken += writing_.stand_ins[kind];
        run_.others[run_.spoken.size()] = std::move(add);
    }

    // Adds the words of a run; one may take in several written forms and letters.
    void flush() {
        Phonemes phonemes = Text();
        bool is_first = true;
        divide_(run_.spoken, [&](size_t place, Phonemes part) {
            auto other = run_.others.find(place);
            if (other != run_.others.end()) return other->second();
            if (!part) phonemes.reset();
            if (phonemes) *phonemes += (is_first ? U"" : U" ") + *part;
            is_first = false;
            auto end = run_.ends.find(place);
            if (end == run_.ends.end()) return;
            words_.add(end->second, phonemes);
            phonemes = Text();
            is_first = true;
        });
        run_ = Run();
    }

    void add_english(size_t start, size_t end) {
        G2p english = find_english_();
        if (!english) return words_.add(end, std::nullopt);
        for (const Word &word : english(plain_.substr(start, end - start))) {
            words_.add(start += word.text.size(), word.phonemes);
            words_.add_space(start += word.whitespace.size());
        }
    }

    View plain_;
    const Writing &writing_;
    const DivideWords &divide_;
    const std::function<G2p()> &find_english_;
    Collected &words_;
    Run run_;
};

}  // namespace

std::vector<Word> segmented_words(View text, const Writing &writing, const DivideWords &divide,
                                  const std::function<G2p()> &find_english) {
    auto [shown, controls] = read_controls(text);
    Text plain = writing.plain.translate(shown);
    Collected words(shown, writing.marks);
    Reader reader(plain, writing, divide, find_english, words);
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

}  // namespace kokoro::text
