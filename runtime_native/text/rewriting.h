// Ordered rules that rewrite the letters of a word, "c" to "θ" before "e", and its stress.
//
// bundles/FORMAT.md has the form of the data. No rule looks further than a bounded number of letters, so the
// time is linear in the text whatever the data are.
#pragma once

#include <optional>
#include <vector>

#include "../base/unicode.h"
#include "../format/schema.h"

namespace kokoro::text {

// Stands before and after the text, and in a rule for both of these places.
constexpr char32_t EDGE = 0;
// The first character that stands for something else in a text of the data.
constexpr char32_t FIRST_PLACE = 0xE000;

// Returns a string of the data. Throws MANIFEST_ERROR if it is something else, as all that reads data here.
Text text_of(const Node &node);
// Returns a text in which characters stand for at most `count` values.
Text places_in(const Node &node, size_t count);
// Returns a text with values in place of the characters that stand for them.
Text filled(View text, const std::vector<Text> &values);

struct LetterSet {
    Text letters;
    bool has;  // the letters are those in the set, or else those outside of it
    bool is_run = false;

    bool contains(char32_t letter) const {
        return has ? letters.find(letter) != View::npos : letter != EDGE && letters.find(letter) == View::npos;
    }
};

using Side = std::vector<LetterSet>;

// What may stand before and after a place.
class Contexts {
public:
    void add(Side left, Side right) { pairs_.emplace_back(std::move(left), std::move(right)); }
    bool empty() const { return pairs_.empty(); }
    // Returns true if one of them stands around a part of a text with its edges.
    bool hold(View text, size_t start, size_t end) const;

private:
    std::vector<std::pair<Side, Side>> pairs_;
};

// The sets of letters that the rules of a language name.
class Sets {
public:
    explicit Sets(const Node &node);
    // Returns a set by its number; none for -1.
    std::optional<LetterSet> numbered(const Node &node) const;
    // Returns what must stand on one side of a place, from there outwards.
    Side side(const Node &node) const;
    Contexts contexts(const Node &node) const;

private:
    std::vector<LetterSet> sets_;
};

// What replaces some letters, and where.
class Rule {
public:
    Rule(const Node &node, const Sets &sets);
    bool matches(View text, size_t place) const;
    Text replacement(View text, size_t place) const;
    size_t size() const { return focus_.size(); }

private:
    Side focus_;
    Text by_;
    std::vector<std::pair<Text, Text>> maps_;  // letters, and those that replace them
    Contexts contexts_, exceptions_;
};

// Rules of which the first that holds at a place applies, from left to right.
class Pass {
public:
    Pass(const Node &node, const Sets &sets);
    // Rewrites a text with its edges; `once` stops after the first place. Returns true if it changed.
    bool apply(Text &text, bool once) const;

private:
    std::vector<Rule> rules_;
};

// Which vowel of a word has the stress.
class Stress {
public:
    Stress(const Node &node, const Sets &sets);
    // Returns a text with its edges and the marks of stress before vowels.
    Text apply(View text, View mark) const;

private:
    struct Choice {
        int64_t which;
        std::optional<LetterSet> own;
        Contexts ends;
    };
    std::optional<size_t> chosen(View text, const std::vector<size_t> &places) const;

    std::optional<LetterSet> vowels_;
    std::vector<Choice> choices_;
    bool second_;
};

}  // namespace kokoro::text
