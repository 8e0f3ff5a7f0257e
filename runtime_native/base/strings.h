// Functions of Python's `str`, and tables of words.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "unicode.h"

namespace kokoro {

inline bool starts_with(View text, View beginning) { return text.substr(0, beginning.size()) == beginning; }
inline bool ends_with(View text, View ending) {
    return text.size() >= ending.size() && text.substr(text.size() - ending.size()) == ending;
}
inline bool contains(View text, View part) { return text.find(part) != View::npos; }
inline bool contains(View text, char32_t letter) { return text.find(letter) != View::npos; }
// Returns the part of a text from a place on, which may lie beyond its end.
inline View tail(View text, size_t start) { return text.substr(std::min(start, text.size())); }

// Without the letters of a set, at both ends or at one.
View strip_start(View text, View letters);
View strip_end(View text, View letters);
inline View strip(View text, View letters) { return strip_start(strip_end(text, letters), letters); }

// Returns the parts between white space.
std::vector<View> split(View text);
// Returns the parts between separators, at least one.
std::vector<View> split(View text, char32_t separator);
Text join(const std::vector<Text> &parts, View between);
Text replaced(View text, View part, View by);
Text without(View text, char32_t letter);
// Returns the name of each letter with spaces between: "A T T".
Text spaced(View text);

// Returns the words between spaces of `tables.h`.
std::vector<Text> list(const char *written);

// A set of words, from those between spaces in `tables.h`.
class Words {
public:
    explicit Words(const char *written);
    bool has(View word) const { return words_.find(word) != words_.end(); }
    const std::set<Text, std::less<>> &all() const { return words_; }

private:
    std::set<Text, std::less<>> words_;
};

// A row of a table, without its key.
using Row = std::vector<Text>;

// Returns the rows of a table of `tables.h` with their keys, in their order.
std::vector<Row> rows(const char *written);

// A table of `tables.h`.
class Table {
public:
    explicit Table(const char *written);
    // Returns the row of a key, null if it has none.
    const Row *row(View key) const;
    // Returns the first value of a key, null if it has none.
    const Text *find(View key) const;
    // Returns the first value of a key, or another text.
    View get(View key, View otherwise = {}) const;
    bool has(View key) const { return row(key) != nullptr; }
    // Returns a text with each letter's value in place of it.
    Text translate(View text) const;

private:
    std::map<Text, Row, std::less<>> rows_;
};

}  // namespace kokoro
