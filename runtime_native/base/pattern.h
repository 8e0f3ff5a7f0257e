// Matches patterns as Python's `re` does. exporter/native/pattern_programs.py compiles those of `runtime_min`
// to the programs in generated/tables.h. Alternatives that are left to try are kept in a list, so no text is
// too long for the stack.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "unicode.h"

namespace kokoro {

class Pattern;

// Where the whole match and up to 15 groups start and end.
using Slots = std::array<uint32_t, 32>;

// A match of a pattern in a text; both must outlive the match.
class Match {
public:
    View text() const { return text_; }
    size_t start(int group = 0) const { return slots_[2 * group]; }
    size_t end(int group = 0) const { return slots_[2 * group + 1]; }
    bool has(int group) const { return slots_[2 * group + 1] != 0xFFFFFFFF; }
    // Returns what a group matched, empty if it took no part.
    View operator[](int group) const;
    View operator[](const char *name) const { return has(name) ? (*this)[group(name)] : View(); }
    bool has(const char *name) const;
    size_t start(const char *name) const { return start(group(name)); }
    size_t end(const char *name) const { return end(group(name)); }

private:
    friend class Pattern;
    int group(const char *name) const;

    const Pattern *pattern_ = nullptr;
    View text_;
    Slots slots_;
};

// A set of characters.
class Letters {
public:
    using Ranges = std::vector<std::pair<char32_t, char32_t>>;

    // Takes categories, each by its letter in a pattern ("w" for `\w`), and ranges with their last letters.
    Letters(bool negated, std::string categories, Ranges ranges);
    bool has(char32_t letter) const {
        return letter < 128 ? ascii_[letter / 64] >> letter % 64 & 1 : contains(letter);
    }
    uint64_t ascii(size_t half) const { return ascii_[half]; }

private:
    bool contains(char32_t letter) const;

    bool negated_;
    std::string categories_;
    Ranges ranges_;
    uint64_t ascii_[2] = {};
};

// A step of a pattern's program; `pattern.cpp` runs it.
struct Step {
    // The numbers are those of exporter/native/pattern_programs.py.
    enum Kind : uint8_t {
        LETTER,
        SET,
        REPEAT,
        LAZY_REPEAT,
        SPLIT,
        JUMP,
        SAVE,
        BEGIN,
        END_OR_LINE_FEED,
        END,
        BOUNDARY,
        SAME,
        SAME_IGNORING_CASE,
        AHEAD,
        NOT_AHEAD,
        BEHIND,
        NOT_BEHIND,
        MATCH
    };
    Kind kind;
    uint32_t first = 0;   // a letter, a set, a slot, a group, or the step to go on with
    uint32_t second = 0;  // the step to go on with otherwise, the least repetitions, or the width behind
    uint32_t third = 0;   // the most repetitions (0: any number), or flags of what is looked at
};

// Flags of what a step looks at.
constexpr uint32_t ONE_LETTER = 1, HAS_GROUPS = 2;

// A compiled pattern.
struct Program {
    std::vector<Step> steps;
    std::vector<Letters> sets;
    std::vector<std::string> names;  // of the groups, empty if a group has none; the first is the whole match
};

class Pattern {
public:
    // Takes a program of tables.h.
    explicit Pattern(const unsigned char *program) : Pattern(&program) {}
    // Takes the first of several programs, and moves past it.
    explicit Pattern(const unsigned char **programs);

    // Each of these treats a text as if it ended at `end`, but sees the characters before `start`.
    bool match(View text, size_t start, size_t end, Match &found) const {
        return match_from(text, start, end, false, found);
    }
    bool search(View text, size_t start, size_t end, Match &found) const;
    bool full_match(View text, Match &found) const { return match_from(text, 0, text.size(), true, found); }

    bool search(View text, Match &found) const { return search(text, 0, text.size(), found); }
    bool search(View text) const;
    bool full_match(View text) const;

    // Calls `handle` with every match, from left to right.
    template <typename Handle>
    void for_each(View text, size_t start, size_t end, Handle handle) const {
        Match found;
        while (start <= end && search(text, start, end, found)) {
            start = found.end() + (found.end() == found.start());
            handle(found);
        }
    }

    // Returns the number of groups.
    int groups() const { return static_cast<int>(program_.names.size()) - 1; }

    // Returns what the pattern matches, from left to right.
    std::vector<View> find_all(View text) const;

    // Returns the text with `make(match)` in place of each match, or of the first one.
    template <typename Make>
    Text replace(View text, Make make, bool once = false) const {
        Text result;
        size_t position = 0;
        Match found;
        while (position <= text.size() && search(text, position, text.size(), found)) {
            result.append(text.substr(position, found.start() - position));
            result.append(make(found));
            position = found.end();
            if (once) break;
        }
        return result.append(text.substr(position));
    }

private:
    friend class Match;
    bool match_from(View text, size_t start, size_t end, bool whole, Match &found) const;
    void find_first_letters(uint32_t step, std::vector<bool> &seen);
    bool may_begin(char32_t letter) const {
        return letter < 128 ? first_[letter / 64] >> letter % 64 & 1 : first_beyond_ascii_;
    }

    Program program_;
    uint64_t first_[2] = {};  // ASCII letters that a match may begin with
    bool first_beyond_ascii_ = false, first_nothing_ = false;
};

}  // namespace kokoro
