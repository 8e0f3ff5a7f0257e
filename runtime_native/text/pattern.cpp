#include "pattern.h"

#include <algorithm>

namespace kokoro::text {

namespace {

// A way that is left to try: another step, a shorter or longer repetition, or a slot to set back.
struct Choice {
    enum Kind : uint8_t { STEP, SHORTER, LONGER, SLOT } kind;
    uint32_t step;      // to go on with, or the slot
    uint32_t position;  // to go on at, or the slot's value
    uint32_t limit;     // the shortest repetition's end, or how many more letters a longer one may have
    uint32_t set;
};

thread_local std::vector<Choice> choices;

bool is_word(char32_t letter) { return is_alnum(letter) || letter == '_'; }

bool in_category(char32_t letter, char category) {
    switch (category) {
        case 'w': return is_word(letter);
        case 'W': return !is_word(letter);
        case 'd': return is_decimal(letter);
        case 'D': return !is_decimal(letter);
        case 's': return is_space(letter);
        default: return !is_space(letter);
    }
}

// Returns a letter without its case; also of the two letters that no lower case joins to theirs.
char32_t without_case(char32_t letter) {
    char32_t small = simple_lower(letter);
    return small == U'ı' ? U'i' : small == U'ſ' ? U's' : small;
}

bool is_boundary(View text, size_t end, size_t position) {
    bool before = position > 0 && is_word(text[position - 1]);
    return before != (position < end && is_word(text[position]));
}

}  // namespace

void Letters::finish(bool negated, bool ignores_case) {
    negated_ = negated, ignores_case_ = ignores_case;
    if (ignores_case) {
        for (auto &[first, last] : ranges_) first = without_case(first), last = without_case(last);
    }
    for (char32_t letter = 0; letter < 128; letter++) {
        if (contains(letter)) ascii_[letter / 64] |= uint64_t{1} << letter % 64;
    }
}

bool Letters::contains(char32_t letter) const {
    if (ignores_case_) letter = without_case(letter);
    for (auto [first, last] : ranges_) {
        if (letter >= first && letter <= last) return !negated_;
    }
    for (char category : categories_) {
        if (in_category(letter, category)) return !negated_;
    }
    return negated_;
}

View Match::operator[](int group) const {
    return has(group) ? text_.substr(start(group), end(group) - start(group)) : View();
}

int Match::group(const char *name) const {
    const auto &names = pattern_->program_.names;
    return static_cast<int>(std::find(names.begin(), names.end(), name) - names.begin());
}

bool Match::has(const char *name) const {
    int found = group(name);
    return found < static_cast<int>(pattern_->program_.names.size()) && has(found);
}

Pattern::Pattern(std::string_view written) : program_(compile_pattern(written)) {
    std::vector<bool> seen(program_.steps.size());
    find_first_letters(0, seen);
}

void Pattern::find_first_letters(uint32_t number, std::vector<bool> &seen) {
    for (; !seen[number]; number++) {
        seen[number] = true;
        const Step &step = program_.steps[number];
        switch (step.kind) {
            case Step::LETTER:
                if (step.first < 128) first_[step.first / 64] |= uint64_t{1} << step.first % 64;
                first_beyond_ascii_ = first_beyond_ascii_ || step.first >= 128;
                return;
            case Step::SET:
            case Step::REPEAT:
            case Step::LAZY_REPEAT:
                for (size_t half : {0, 1}) first_[half] |= program_.sets[step.first].ascii(half);
                first_beyond_ascii_ = true;
                if (step.kind == Step::SET || step.least) return;
                break;
            case Step::SPLIT: find_first_letters(step.second, seen); [[fallthrough]];
            case Step::JUMP:
            case Step::AHEAD:
            case Step::NOT_AHEAD:
            case Step::BEHIND:
            case Step::NOT_BEHIND: number = step.first - 1; break;
            case Step::LETTER_IGNORING_CASE:
            case Step::SAME:
            case Step::SAME_IGNORING_CASE:
            case Step::MATCH:
                first_[0] = first_[1] = ~uint64_t{0};
                first_beyond_ascii_ = true;
                first_nothing_ = first_nothing_ || step.kind != Step::LETTER_IGNORING_CASE;
                return;
            default: break;
        }
    }
}

bool Pattern::match(View text, size_t start, size_t end, Match &found) const {
    found.pattern_ = this, found.text_ = text;
    found.slots_.assign(2 * program_.names.size(), Match::NOWHERE);
    size_t last = 0;
    if (!run(text, end, 0, start, false, found.slots_, last)) return false;
    found.slots_[0] = static_cast<uint32_t>(start), found.slots_[1] = static_cast<uint32_t>(last);
    return true;
}

bool Pattern::search(View text, size_t start, size_t end, Match &found) const {
    for (size_t place = start; place < end + first_nothing_; place++) {
        if (place < end && !may_begin(text[place])) continue;
        if (match(text, place, end, found)) return true;
    }
    return false;
}

bool Pattern::full_match(View text, Match &found) const {
    found.pattern_ = this, found.text_ = text;
    found.slots_.assign(2 * program_.names.size(), Match::NOWHERE);
    size_t last = 0;
    if (!run(text, text.size(), 0, 0, true, found.slots_, last)) return false;
    found.slots_[0] = 0, found.slots_[1] = static_cast<uint32_t>(last);
    return true;
}

bool Pattern::search(View text) const {
    Match found;
    return search(text, found);
}

bool Pattern::full_match(View text) const {
    Match found;
    return full_match(text, found);
}

std::vector<View> Pattern::find_all(View text) const {
    std::vector<View> all;
    for_each(text, 0, text.size(), [&](const Match &found) { all.push_back(found[0]); });
    return all;
}

bool Pattern::look(const Step &step, View text, size_t end, uint32_t number, size_t position,
                   std::vector<uint32_t> &slots) const {
    bool behind = step.kind == Step::BEHIND || step.kind == Step::NOT_BEHIND;
    bool negative = step.kind == Step::NOT_AHEAD || step.kind == Step::NOT_BEHIND;
    size_t start = position, last = 0;
    if (behind) {
        if (position < step.second) return negative;
        start -= step.second;
    }
    if (!negative) return run(text, end, number + 1, start, false, slots, last);
    std::vector<uint32_t> own;
    if (program_.names.size() > 1) own = slots;
    return !run(text, end, number + 1, start, false, own, last);
}

bool Pattern::run(View text, size_t end, uint32_t number, size_t position, bool whole,
                  std::vector<uint32_t> &slots, size_t &last) const {
    const size_t base = choices.size();
    const auto place = [&] { return static_cast<uint32_t>(position); };
    while (true) {
        const Step &step = program_.steps[number];
        bool goes_on = false;
        switch (step.kind) {
            case Step::LETTER: goes_on = position < end && text[position++] == step.first; break;
            case Step::LETTER_IGNORING_CASE:
                goes_on = position < end && without_case(text[position++]) == step.first;
                break;
            case Step::SET:
                goes_on = position < end && program_.sets[step.first].has(text[position++]);
                break;
            case Step::REPEAT: {
                const Letters &set = program_.sets[step.first];
                size_t most = std::min<size_t>(end - position, step.most), count = 0;
                while (count < most && set.has(text[position + count])) count++;
                goes_on = count >= step.least;
                if (goes_on && count > step.least) {
                    uint32_t longest = place() + static_cast<uint32_t>(count);
                    choices.push_back({Choice::SHORTER, number + 1, longest, place() + step.least, 0});
                }
                position += count;
                break;
            }
            case Step::LAZY_REPEAT: {
                const Letters &set = program_.sets[step.first];
                size_t count = 0;
                while (count < step.least && position < end && set.has(text[position])) count++, position++;
                goes_on = count == step.least;
                if (goes_on && step.most > step.least) {
                    choices.push_back(
                        {Choice::LONGER, number + 1, place(), step.most - step.least, step.first});
                }
                break;
            }
            case Step::SPLIT:
                choices.push_back({Choice::STEP, step.second, place(), 0, 0});
                number = step.first;
                continue;
            case Step::JUMP: number = step.first; continue;
            case Step::SAVE:
                choices.push_back({Choice::SLOT, step.first, slots[step.first], 0, 0});
                slots[step.first] = place();
                goes_on = true;
                break;
            case Step::BEGIN: goes_on = position == 0; break;
            case Step::END_OR_LINE_FEED:
                goes_on = position == end || (position + 1 == end && text[position] == '\n');
                break;
            case Step::END: goes_on = position == end; break;
            case Step::BOUNDARY: goes_on = is_boundary(text, end, position); break;
            case Step::SAME:
            case Step::SAME_IGNORING_CASE: {
                uint32_t first = slots[2 * step.first], size = slots[2 * step.first + 1] - first;
                goes_on = slots[2 * step.first + 1] != Match::NOWHERE && size <= end - position;
                for (uint32_t index = 0; goes_on && index < size; index++) {
                    char32_t one = text[first + index], other = text[position + index];
                    goes_on = one == other || (step.kind == Step::SAME_IGNORING_CASE &&
                                               simple_lower(one) == simple_lower(other));
                }
                if (goes_on) position += size;
                break;
            }
            case Step::MATCH:
                if (whole && position != end) break;
                last = position;
                choices.resize(base);
                return true;
            default:
                if (look(step, text, end, number, position, slots)) {
                    number = step.first;
                    continue;
                }
        }
        if (goes_on) {
            number++;
            continue;
        }
        // Back to the last way that is left.
        for (;; choices.pop_back()) {
            if (choices.size() == base) return false;
            Choice &choice = choices.back();
            if (choice.kind == Choice::SLOT) {
                slots[choice.step] = choice.position;
                continue;
            }
            if (choice.kind == Choice::LONGER) {
                bool more = choice.limit > 0 && choice.position < end &&
                            program_.sets[choice.set].has(text[choice.position]);
                if (!more) continue;
                choice.limit--;
                position = ++choice.position;
                number = choice.step;
                break;
            }
            number = choice.step;
            if (choice.kind == Choice::SHORTER) {
                position = --choice.position;
                if (choice.position == choice.limit) choices.pop_back();
            } else {
                position = choice.position;
                choices.pop_back();
            }
            break;
        }
    }
}

}  // namespace kokoro::text
