#include "written_words.h"

#include <algorithm>

#include "../base/strings.h"
#include "../base/utf8.h"
#include "rewriting.h"

namespace kokoro::text {

namespace {

constexpr size_t MOST_DIGITS = 12, MOST_WRITTEN = 4096, MOST_NODES = 65536;
constexpr View POWERS = U"²³";  // digits above the line that are signs, and no part of a word
enum Kind { RANGE, NUMBER, MONEY, ROMAN, DECIMAL, UNIT, WORD };
constexpr int64_t ONE = 1;  // the numbers of a place with a sign or a unit, if it has the words for one of it
size_t digits_end(View text, size_t start, size_t most = View::npos) {
    size_t end = start;
    while (end < std::min(most, text.size()) && is_decimal(text[end])) end++;
    return end;
}

bool is_at(View text, size_t place, char32_t letter) { return place < text.size() && text[place] == letter; }

void add_words(std::vector<Text> &words, View text) {
    for (View word : split(text)) words.emplace_back(word);
}

// Returns a text in lower case, with straight apostrophes and the digits 0 to 9.
Text normal(View written) {
    Text text = replaced(nfc(lower(written)), U"’", U"'");
    for (char32_t &letter : text) {
        if (is_decimal(letter)) letter = U'0' + digit_value(letter);
    }
    return text;
}

View without_minus(View text) { return text.substr(starts_with(text, U"-")); }

Text get(const Texts &texts, View key) {
    auto found = texts.find(key);
    return found == texts.end() ? Text() : found->second;
}

// Reads the words for several of something, and those for one, after a | if they are others.
void read_several_and_one(const Node &node, Texts &several, Texts &one) {
    for (const auto &[key, words] : texts_of(node)) {
        size_t mark = words.find(U'|');
        several[key] = words.substr(0, mark);
        Text single = mark == Text::npos ? Text() : words.substr(mark + 1);
        one[key] = single.empty() ? several[key] : single;
    }
}

}  // namespace

Texts texts_of(const Node &node) {
    Texts found;
    for (const auto &[key, value] : node.entries()) found[decode_utf8(key)] = text_of(value);
    return found;
}

WrittenWords::WrittenWords(const Node &node) {
    auto [letters, accented, respelled, vowels, alone, mark, signs, money, units, measures, known, minus,
          separators, grouping, comma, together, numbers, forms] =
        node.fields("letters", "accented", "respelled", "vowels", "alone", "apostrophe", "signs", "money",
                    "units", "measures", "abbreviations", "minus", "separators", "grouping", "comma", "together", "numbers",
                    "forms");
    apostrophe = text_of(mark);
    names_ = texts_of(letters);
    respelled_ = texts_of(respelled);
    vowels_ = text_of(vowels) + apostrophe;
    alone_ = text_of(alone);
    read_several_and_one(money, money_, one_sign_);
    read_several_and_one(units, units_, one_unit_);
    read_several_and_one(measures, measures_, one_unit_);
    signs_ = money_;
    for (const auto &[sign, words] : texts_of(signs)) signs_.emplace(sign, words);
    abbreviations = texts_of(known);
    minus_ = text_of(minus);
    comma_ = text_of(comma);
    grouping_ = grouping.integer(2, 3);
    together_ = together.integer(0, MOST_DIGITS);
    std::vector<Text> marks = separators.elements(2, 2, text_of);
    if (marks[0].empty() || marks[0].size() > 2 || marks[1].size() != 1 || apostrophe.size() > 1) {
        refuse_manifest(separators.path, "one or two characters, and one", "others");
    }
    thousands_ = marks[0];
    decimal_ = marks[1][0];
    for (const auto &[letter, name] : names_) {
        if (letter.size() == 1) known_.insert(letter[0]);
    }
    accented_ = text_of(accented);
    for (char32_t letter : accented_ + apostrophe) known_.insert(letter);
    size_t count = numbers.elements(1, MOST_NODES, [](const Node &) { return 0; }).size();
    numbers_ = numbers.elements(1, MOST_NODES, [&](const Node &each) { return Numbers(each, count); });
    forms.elements(0, MOST_NODES, [&](const Node &each) {
        read_form(each);
        return 0;
    });
    for (const auto &[unit, words] : units_) {
        if (!std::all_of(unit.begin(), unit.end(), [&](char32_t letter) { return is_letter(letter); })) {
            longer_[unit[0]].push_back(unit);
        }
    }
    for (auto &[letter, own] : longer_) {
        std::stable_sort(own.begin(), own.end(),
                         [](const Text &one, const Text &other) { return one.size() > other.size(); });
    }
}

void WrittenWords::read_form(const Node &node) {
    auto read_place_of = [&](const Node &each) {
        std::vector<Node> parts = each.elements(5, 5, [](const Node &part) { return part; });
        int64_t kind = parts[0].integer(RANGE, WORD);
        int64_t sets = static_cast<int64_t>(numbers_.size());
        int64_t most = kind == MONEY || kind == UNIT ? ONE : kind == RANGE ? sets : sets - 1;
        return Place{kind, parts[1].integer(0, LARGEST_NUMBER), parts[2].integer(0, LARGEST_NUMBER),
                     parts[3].integer(0, MOST_DIGITS), parts[4].integer(0, most)};
    };
    std::vector<Node> parts = node.elements(3, 3, [](const Node &part) { return part; });
    std::vector<Place> places = parts[1].elements(0, MOST_NODES, read_place_of);
    Form form{places_in(parts[0], places.size()), places, places_in(parts[2], places.size())};
    if (strip(form.pattern).empty()) refuse_manifest(parts[0].path, "more than spaces", "nothing else");
    size_t words = std::count(form.pattern.begin(), form.pattern.end(), U' ') + 1;
    for (char32_t letter : firsts(form)) {
        forms_[letter].push_back(form);
        if (words > 1) across_[letter].insert(words);
    }
}

// Returns the characters with which a form may begin, 0 for all digits.
std::set<char32_t> WrittenWords::firsts(const Form &form) const {
    char32_t first = form.pattern[0];
    size_t number = first - FIRST_PLACE;
    if (first < FIRST_PLACE || number >= form.places.size()) return {is_decimal(first) ? U'0' : first};
    int64_t kind = form.places[number].kind;
    if (kind == ROMAN) {
        View letters = U"ivxlcdm";
        return {letters.begin(), letters.end()};
    }
    if (kind == WORD) return known_;
    if (kind != MONEY && kind != UNIT) return {U'0'};
    std::set<char32_t> found;
    for (const Texts *known : {&money_, &units_, &measures_}) {
        if ((known == &money_) != (kind == MONEY)) continue;
        for (const auto &[sign, words] : *known) {
            if (sign.size() == 1 || (kind == UNIT && !sign.empty())) found.insert(sign[0]);
        }
    }
    return found;
}

// Returns the forms that begin with the first character of a text, in their order.
const std::vector<WrittenWords::Form> &WrittenWords::beginning(View text) const {
    static const std::vector<Form> none;
    if (text.empty()) return none;
    auto found = forms_.find(is_decimal(text[0]) ? U'0' : text[0]);
    return found == forms_.end() ? none : found->second;
}

std::vector<size_t> WrittenWords::counts(const std::vector<View> &words) {
    std::vector<size_t> found =
        contains(thousands_, U' ') ? grouped(words) : std::vector<size_t>(words.size(), 1);
    std::vector<size_t> ends{0}, joined;
    for (size_t count : found) ends.push_back(ends.back() + count);
    for (size_t start = 0, end; start < found.size(); start = end) {
        end = form_end(words, ends, start);
        joined.push_back(ends[end] - ends[start]);
    }
    return joined;
}

// Returns where the longest form with spaces ends that begins with the number or word of a place.
size_t WrittenWords::form_end(const std::vector<View> &words, const std::vector<size_t> &ends, size_t start) {
    Text first = lower(without_minus(words[ends[start]]).substr(0, 1));
    if (first.empty()) return start + 1;
    auto across = across_.find(is_decimal(first[0]) ? U'0' : first[0]);
    if (across == across_.end()) return start + 1;
    for (size_t count : across->second) {
        if (start + count >= ends.size()) continue;
        Text text;
        for (size_t place = ends[start]; place < ends[start + count]; place++) {
            if (place > ends[start]) text += U' ';
            text += words[place];
        }
        if (is_form(without_minus(text))) return start + count;
    }
    return start + 1;
}

// Returns how many words belong to one number, whose groups of three digits are between spaces.
std::vector<size_t> WrittenWords::grouped(const std::vector<View> &words) const {
    std::vector<size_t> found;
    for (size_t start = 0, end; start < words.size(); start = end) {
        end = start + 1;
        View digits = without_minus(words[start]);
        bool goes_on = !digits.empty() && digits.size() <= 3 && digits_end(digits, 0) == digits.size() &&
                       digits[0] != U'0';
        for (; goes_on && end < words.size() && digits_end(words[end], 0, 4) == 3; end++) {
            goes_on = words[end].size() == 3;
        }
        found.push_back(end - start);
    }
    return found;
}

bool WrittenWords::is_form(View written) {
    Text key(written);
    auto known = fits_.find(key);
    if (known != fits_.end()) return known->second;
    if (fits_.size() >= MOST_WRITTEN) fits_.clear();
    Text text = normal(written), words;
    const std::vector<Form> &forms = beginning(text);
    bool fits = std::any_of(forms.begin(), forms.end(), [&](const Form &form) {
        return contains(form.pattern, U' ') && read_form(form, written, text, words);
    });
    return fits_.emplace(key, fits).first->second;
}

const std::vector<Text> &WrittenWords::words(View written) {
    Text key(written);
    auto known = read_.find(key);
    if (known != read_.end()) return known->second;
    if (read_.size() >= MOST_WRITTEN) read_.clear();
    std::vector<Text> found;
    Text text = normal(written);
    auto is_digit_at = [&](size_t place) { return place < text.size() && is_decimal(text[place]); };
    bool money = text.size() > 1 && money_.count(View(text).substr(1, 1)) && is_digit_at(2);
    if (is_at(text, 0, U'-') && (is_digit_at(1) || money || is_form(written.substr(1)))) {
        add_words(found, minus_);
        const std::vector<Text> &rest = words(written.substr(1));
        found.insert(found.end(), rest.begin(), rest.end());
    } else {
        add_words(found, spoken(written, text));
    }
    return read_.emplace(key, std::move(found)).first->second;
}

// Returns the words of a text, which is `written` in lower case.
Text WrittenWords::spoken(View written, View text) const {
    if (contains(text, U'.')) {
        auto known = abbreviations.find(strip_end(text, U"."));
        if (known != abbreviations.end()) return known->second;
    }
    Text words;
    for (const Form &form : beginning(text)) {
        if (read_form(form, written, text, words)) return words;
    }
    if (contains(text, U'.') && spelled_initials(strip_end(text, U"."), words)) return words;
    words = parts(text);
    return apostrophe.empty() ? words : replaced(words, apostrophe + U" ", apostrophe);
}

// Reads letters with full stops between them as the names of the letters.
bool WrittenWords::spelled_initials(View text, Text &words) const {
    Text names;
    size_t count = 0, start = 0;
    for (size_t end; start <= text.size(); start = end + 1, count++) {
        end = std::min(text.find(U'.', start), text.size());
        auto name = names_.find(text.substr(start, end - start));
        if (name == names_.end()) return false;
        names += (count ? U" " : U"") + name->second;
    }
    if (count < 2) return false;
    words = names;
    return true;
}

bool WrittenWords::read_form(const Form &form, View written, View text, Text &words) const {
    std::vector<Text> values(form.places.size());
    size_t start = 0;
    for (char32_t letter : form.pattern) {
        size_t number = letter - FIRST_PLACE;
        bool is_place = letter >= FIRST_PLACE && number < values.size();
        size_t end = is_place ? read_place(form.places[number], written, text, start, values[number])
                              : start + is_at(text, start, letter);
        if (end == start) return false;
        start = end;
    }
    if (start != text.size()) return false;
    words = filled(form.spoken, values);
    return true;
}

// Returns where what a place has ends, and gives its words; the start if the text has nothing for it.
size_t WrittenWords::read_place(const Place &place, View written, View text, size_t start, Text &words) const {
    if (place.kind == MONEY) {
        const Texts &signs = place.numbers == ONE ? one_sign_ : money_;
        auto sign = signs.find(text.substr(std::min(start, text.size()), 1));
        if (start >= text.size() || sign == signs.end()) return start;
        words = sign->second;
        return start + 1;
    }
    if (place.kind == UNIT) {
        View unit = text.substr(std::min(start, text.size()));
        words = place.numbers == ONE ? get(one_unit_, unit) : get(measures_, unit);
        if (place.numbers != ONE && words.empty()) words = get(units_, unit);
        return words.empty() ? start : text.size();
    }
    if (place.kind == WORD) {
        size_t width = std::min<size_t>(place.width, text.size()), end = std::max(start, text.size() - width);
        View word = text.substr(std::min(start, text.size()), end - std::min(start, end));
        bool is_word = word.size() > 1 && std::all_of(word.begin(), word.end(), [&](char32_t letter) {
            return contains(accented_, letter) || names_.count(View(&letter, 1));
        });
        if (!is_word) return start;
        words = word;
        return end;
    }
    if (place.kind == NUMBER || place.kind == DECIMAL) {
        size_t whole = whole_end(text, start), end = whole;
        if (place.kind == DECIMAL && end > start) end = decimals_end(text, whole);
        if (end > start) {
            words = number(text.substr(start, whole - start), tail(text.substr(0, end), whole + 1), place.numbers);
        }
        return end;
    }
    size_t end = start;
    int64_t value;
    if (place.kind == ROMAN) {
        while (end < text.size() && contains(U"ivxlcdm", text[end])) end++;
        View letters = text.substr(start, end - start);
        bool capitals = written.size() == text.size() && written.substr(start, end - start) == upper(letters);
        if (!capitals || letters.size() < 2) return start;
        value = roman_value(letters);
    } else {
        size_t most = place.width ? place.width : std::to_string(place.high).size();
        end = digits_end(text, start, start + most);
        if (end == start || (place.width && end < start + most)) return start;
        value = value_of(text.substr(start, end - start));
    }
    if (value < place.low || value > place.high) return start;
    if (static_cast<size_t>(place.numbers) < numbers_.size()) {
        words = numbers_[place.numbers].say(value, numbers_);
        return end;
    }
    std::vector<Text> digits;
    for (char32_t digit : text.substr(start, end - start)) digits.push_back(say(digit_value(digit)));
    words = join(digits, U" ");
    return end;
}

// Returns the words of the numbers, units, runs of letters and signs of a text.
Text WrittenWords::parts(View text) const {
    Text words;
    for (size_t start = 0, end; start < text.size(); start = end) {
        char32_t letter = text[start];
        View rest = text.substr(start), unit;
        if (auto own = longer_.find(letter); own != longer_.end()) {
            auto found = std::find_if(own->second.begin(), own->second.end(),
                                      [&](const Text &each) { return starts_with(rest, each); });
            if (found != own->second.end()) unit = *found;
        }
        Text said;
        if (is_decimal(letter)) {
            size_t whole = whole_end(text, start);
            end = decimals_end(text, whole);
            said = number(text.substr(start, whole - start), tail(text.substr(0, end), whole + 1));
        } else if (!unit.empty()) {
            end = start + unit.size();
            said = get(units_, unit);
        } else if (is_letter(letter)) {
            end = word_end(text, start);
            said = word(text.substr(start, end - start));
        } else {
            end = start + 1;
            said = get(signs_, View(&letter, 1));
        }
        if (!words.empty() && !said.empty()) words += U' ';
        words += said;
    }
    return words;
}

bool WrittenWords::is_letter(char32_t letter) const {
    if (contains(apostrophe, letter)) return false;
    return known_.count(letter) || (is_alnum(letter) && !is_decimal(letter) && !contains(POWERS, letter));
}

// Returns the end of a run of letters, with apostrophes between them and at its end.
size_t WrittenWords::word_end(View text, size_t start) const {
    size_t end = start;
    while (end < text.size() && (is_letter(text[end]) || (contains(apostrophe, text[end]) && end > start &&
                                                          !contains(apostrophe, text[end - 1])))) {
        end++;
    }
    return end;
}

// Returns the end of a number's digits, of which three or less may be followed by groups of them.
size_t WrittenWords::whole_end(View text, size_t start) const {
    size_t end = digits_end(text, start);
    if (end == start || end - start > 3) return end;
    end = short_groups_end(text, end);
    if (end >= text.size() || !contains(thousands_, text[end])) return end;
    char32_t sign = text[end];
    while (is_at(text, end, sign) && digits_end(text, end + 1, end + 5) == end + 4) end += 4;
    return end;
}

// Returns the end of a number whose whole part ends at a place.
size_t WrittenWords::decimals_end(View text, size_t whole) const {
    size_t end = is_at(text, whole, decimal_) ? digits_end(text, whole + 1) : whole;
    return end == whole + 1 ? whole : end;
}

// Returns the end of groups of two digits, such as those of 12,34,567, that end with one of three.
size_t WrittenWords::short_groups_end(View text, size_t start) const {
    size_t end = start;
    while (grouping_ == 2 && is_at(text, end, thousands_[0])) {
        size_t digits = digits_end(text, end + 1, end + 4) - end - 1;
        if (digits != 2) return digits == 3 ? end : start;
        end += 3;
    }
    return start;
}

// Returns a number in words; digit by digit where it is long or begins with a zero.
Text WrittenWords::number(View whole, View decimals, size_t numbers) const {
    std::vector<Text> words;
    auto add = [&](View digits, bool together, size_t set) {
        if (together && !digits.empty()) {
            words.push_back(numbers_[set].say(value_of(digits), numbers_));
        } else {
            for (char32_t digit : digits) words.push_back(say(digit_value(digit)));
        }
    };
    Text digits;
    for (char32_t letter : whole) {
        if (is_decimal(letter)) digits += letter;
    }
    add(digits, digits.size() <= MOST_DIGITS && (digits.size() == 1 || digits[0] != U'0'), numbers);
    if (!decimals.empty()) {
        View rest = strip_start(decimals, U"0");
        words.push_back(comma_);
        for (size_t zeros = decimals.size() - rest.size(); zeros--;) words.push_back(say(0));
        add(rest, rest.size() <= together_, 0);
    }
    return join(words, U" ");
}

// Returns a run of letters, or the names of letters without a vowel.
Text WrittenWords::word(View part) const {
    if (auto unit = units_.find(part); unit != units_.end()) return unit->second;
    if (!is_alpha(part[0]) && !known_.count(part[0])) return get(signs_, part);
    Text letters, names;
    for (char32_t letter : part) letters += latin(letter);
    bool is_word = letters.size() > 1 && letters.find_first_of(vowels_) != Text::npos;
    if (is_word || contains(View(alone_), View(letters))) return letters;
    for (char32_t letter : letters) names += get(names_, View(&letter, 1)) + U" ";
    return Text(strip(names));
}

// Returns a letter of the language; of other letters the one below their accents, if it is Latin.
Text WrittenWords::latin(char32_t letter) const {
    if (known_.count(letter)) return Text(1, letter);
    Text found = get(respelled_, View(&letter, 1));
    if (!found.empty()) return found;
    for (char32_t each : ascii_of(letter)) {
        if (names_.count(View(&each, 1))) found += each;
    }
    return found;
}

}  // namespace kokoro::text
