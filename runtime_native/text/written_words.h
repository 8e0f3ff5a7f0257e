// Numbers, dates, signs, units and abbreviations of a language as words, by the data of a bundle.
#pragma once

#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "../base/unicode.h"
#include "../format/schema.h"
#include "number_words.h"

namespace kokoro::text {

using Texts = std::map<Text, Text, std::less<>>;

// Returns a map of strings. Throws MANIFEST_ERROR if it is something else, as all that reads data here.
Texts texts_of(const Node &node);

// The written forms of a language.
class WrittenWords {
public:
    explicit WrittenWords(const Node &node);
    // Returns how many words between spaces belong together, from the first on: a number, or a form.
    std::vector<size_t> counts(const std::vector<View> &words);
    // Returns the text between two spaces, or of one number or form, as words of lower-case letters.
    // Numbers and signs become words, and letters without a vowel their names. Nothing remains of a sign
    // that has no name, and of letters of another script.
    const std::vector<Text> &words(View written);

    Text apostrophe;
    Texts abbreviations;  // without their last full stop

private:
    // What a form has in one of its places.
    struct Place {
        int64_t kind, low, high, width, numbers;
    };
    struct Form {
        Text pattern;
        std::vector<Place> places;
        Text spoken;
    };

    void read_form(const Node &node);
    std::set<char32_t> firsts(const Form &form) const;
    const std::vector<Form> &beginning(View text) const;
    std::vector<size_t> grouped(const std::vector<View> &words) const;
    size_t form_end(const std::vector<View> &words, const std::vector<size_t> &ends, size_t start);
    bool is_form(View written);
    Text spoken(View written, View text) const;
    bool spelled_initials(View text, Text &words) const;
    bool read_form(const Form &form, View written, View text, Text &words) const;
    size_t read_place(const Place &place, View written, View text, size_t start, Text &words) const;
    Text parts(View text) const;
    bool is_letter(char32_t letter) const;
    size_t word_end(View text, size_t start) const;
    size_t whole_end(View text, size_t start) const;
    size_t short_groups_end(View text, size_t start) const;
    size_t decimals_end(View text, size_t whole) const;
    Text number(View whole, View decimals, size_t numbers = 0) const;
    Text word(View part) const;
    Text latin(char32_t letter) const;
    Text say(int64_t number) const { return numbers_[0].say(number, numbers_); }

    Texts names_, respelled_, money_, one_sign_, signs_, units_, measures_, one_unit_;
    std::map<char32_t, std::vector<Text>> longer_;  // units that are more than a run of letters
    std::set<char32_t> known_;
    Text accented_, vowels_, alone_, minus_, comma_;
    Text thousands_;  // signs between the groups of digits of a number, one or two
    char32_t decimal_;
    int64_t grouping_;  // digits of the groups above the last three
    size_t together_;
    std::vector<Numbers> numbers_;
    std::map<char32_t, std::vector<Form>> forms_;  // by the character with which they begin, 0 for all digits
    // Numbers of words that the forms with spaces have, by the character with which they begin.
    std::map<char32_t, std::set<size_t, std::greater<>>> across_;
    std::unordered_map<Text, std::vector<Text>> read_;
    std::unordered_map<Text, bool> fits_;
};

}  // namespace kokoro::text
