#include "pattern.h"

#include <algorithm>

#include "thread_own.h"

namespace kokoro {

namespace {

// A way that is left to try: another step, a shorter or longer repetition, or a slot to set back.
struct Choice {
    enum Kind : uint8_t { STEP, SHORTER, LONGER, SLOT } kind;
    uint32_t step;      // to go on with, or the slot
    uint32_t position;  // to go on at, or the slot's value
    uint32_t limit;     // the shortest repetition's end, or how many more letters a longer one may have
    uint32_t set;
};

constexpr uint32_t UNSET = 0xFFFFFFFF;  // a slot of a group that took no part

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

bool is_boundary(View text, size_t end, size_t position) {
    bool before = position > 0 && is_word(text[position - 1]);
    return before != (position < end && is_word(text[position]));
}

// Reads a program of tables.h.
class Reader {
public:
    // Moves `data` past what it reads.
    explicit Reader(const unsigned char *&data) : data_(data) {}

    Program program() {
        Program made;
        made.names.resize(1 + number());
        for (size_t group = 1; group < made.names.size(); group++) made.names[group] = text();
        for (uint32_t left = number(); left--;) made.sets.push_back(letters());
        made.steps.resize(number());
        for (Step &step : made.steps) {
            uint32_t head = number();
            step.kind = static_cast<Step::Kind>(head % 32);
            uint32_t *operands[] = {&step.first, &step.second, &step.third};
            for (uint32_t index = 0; index < head / 32; index++) *operands[index] = number();
        }
        return made;
    }

private:
    uint32_t number() {
        uint32_t value = 0;
        for (int shift = 0;; shift += 7) {
            unsigned char byte = *data_++;
            value |= static_cast<uint32_t>(byte & 0x7F) << shift;
            if (byte < 0x80) return value;
        }
    }

    std::string text() {
        std::string letters(number(), 0);
        for (char &letter : letters) letter = static_cast<char>(number());
        return letters;
    }

    Letters letters() {
        bool negated = number();
        std::string categories = text();
        Letters::Ranges ranges(number());
        char32_t end = 0;
        for (auto &[first, last] : ranges) {
            first = end + number();
            end = first + number();
            last = end - 1;
        }
        return Letters(negated, std::move(categories), std::move(ranges));
    }

    const unsigned char *&data_;
};

// Runs a program from a step and a place on.
class Runner {
public:
    Runner(const Program &program, View text, size_t end, Slots &slots)
        : program_(program), text_(text), end_(end), slots_(slots) {}

    // Returns true if there is a match, which ends at `position` then; with `whole` it ends with the text.
    bool run(uint32_t number, bool whole) {
        number_ = number;
        while (true) {
            const Step &step = program_.steps[number_];
            if (step.kind == Step::MATCH && (!whole || position == end_)) {
                choices.resize(base_);
                return true;
            }
            if (!advance(step) && !go_back()) return false;
        }
    }

    size_t position = 0;

private:
    // Takes a step; returns false if it does not fit.
    bool advance(const Step &step) {
        number_++;
        switch (step.kind) {
            case Step::LETTER:
            case Step::SET: return position < end_ && fits(step, text_[position++]);
            case Step::REPEAT: return repeat(step);
            case Step::LAZY_REPEAT: return repeat_lazily(step);
            case Step::SPLIT: return split(step);
            case Step::JUMP: number_ = step.first; return true;
            case Step::SAVE:
                choices.push_back({Choice::SLOT, step.first, slots_[step.first], 0, 0});
                slots_[step.first] = place();
                return true;
            case Step::BEGIN: return position == 0;
            case Step::END_OR_LINE_FEED:
                return position == end_ || (position + 1 == end_ && text_[position] == '\n');
            case Step::END: return position == end_;
            case Step::BOUNDARY: return is_boundary(text_, end_, position);
            case Step::SAME:
            case Step::SAME_IGNORING_CASE: return same(step);
            case Step::MATCH: return false;
            default: return look(step);
        }
    }

    // Goes one way, and leaves the other to try; goes the other at once if the next letter decides it.
    bool split(const Step &step) {
        const Step &next = program_.steps[step.first];
        bool possible = next.kind > Step::SET || (position < end_ && fits(next, text_[position]));
        if (possible) choices.push_back({Choice::STEP, step.second, place(), 0, 0});
        number_ = possible ? step.first : step.second;
        return true;
    }

    // Returns whether a step of one letter fits.
    bool fits(const Step &step, char32_t letter) const {
        return step.kind == Step::LETTER ? letter == step.first : program_.sets[step.first].has(letter);
    }

    bool repeat(const Step &step) {
        const Letters &set = program_.sets[step.first];
        size_t most = std::min<size_t>(end_ - position, most_of(step)), count = 0;
        while (count < most && set.has(text_[position + count])) count++;
        if (count < step.second) return false;
        uint32_t shortest = place() + step.second;
        position += count;
        if (count > step.second) choices.push_back({Choice::SHORTER, number_, place(), shortest, 0});
        return true;
    }

    bool repeat_lazily(const Step &step) {
        const Letters &set = program_.sets[step.first];
        uint32_t count = 0;
        while (count < step.second && position < end_ && set.has(text_[position])) count++, position++;
        if (count < step.second) return false;
        choices.push_back({Choice::LONGER, number_, place(), most_of(step) - step.second, step.first});
        return true;
    }

    static uint32_t most_of(const Step &step) { return step.third ? step.third : 0xFFFFFFFF; }

    // Reads what a group has matched once more.
    bool same(const Step &step) {
        uint32_t first = slots_[2 * step.first], end = slots_[2 * step.first + 1];
        if (end == UNSET || end - first > end_ - position) return false;
        for (; first < end; first++) {
            char32_t one = text_[first], other = text_[position++];
            bool alike = step.kind == Step::SAME_IGNORING_CASE && simple_lower(one) == simple_lower(other);
            if (one != other && !alike) return false;
        }
        return true;
    }

    // Looks at what lies ahead or behind, without moving on.
    bool look(const Step &step) {
        bool behind = step.kind == Step::BEHIND || step.kind == Step::NOT_BEHIND;
        bool negative = step.kind == Step::NOT_AHEAD || step.kind == Step::NOT_BEHIND;
        uint32_t body = number_;
        number_ = step.first;
        if (behind && position < step.second) return negative;
        size_t from = behind ? position - step.second : position;
        if (step.third & ONE_LETTER) return (from < end_ && fits(program_.steps[body], text_[from])) != negative;
        Slots before;
        bool groups = step.third & HAS_GROUPS;
        if (groups) before = slots_;
        Runner inner(program_, text_, end_, groups && negative ? before : slots_);
        inner.position = from;
        bool found = inner.run(body, false);
        if (found && groups && !negative) leave(before);
        return found != negative;
    }

    // Leaves the slots that differ from earlier ones to set back.
    void leave(const Slots &before) {
        for (uint32_t slot = 0; slot < before.size(); slot++) {
            if (slots_[slot] != before[slot]) choices.push_back({Choice::SLOT, slot, before[slot], 0, 0});
        }
    }

    // Goes back to the last way that is left to try; returns false if there is none.
    bool go_back() {
        for (; choices.size() > base_; choices.pop_back()) {
            Choice &choice = choices.back();
            number_ = choice.step;
            if (choice.kind == Choice::SLOT) {
                slots_[choice.step] = choice.position;
            } else if (choice.kind == Choice::STEP) {
                position = choice.position;
                choices.pop_back();
                return true;
            } else if (choice.kind == Choice::SHORTER) {
                position = --choice.position;
                if (choice.position == choice.limit) choices.pop_back();
                return true;
            } else if (choice.limit && choice.position < end_ &&
                       program_.sets[choice.set].has(text_[choice.position])) {
                choice.limit--;
                position = ++choice.position;
                return true;
            }
        }
        return false;
    }

    uint32_t place() const { return static_cast<uint32_t>(position); }

    const Program &program_;
    View text_;
    size_t end_;
    Slots &slots_;
    uint32_t number_ = 0;
    std::vector<Choice> &choices = own_of_thread<std::vector<Choice>>();
    const size_t base_ = choices.size();
};

}  // namespace

Letters::Letters(bool negated, std::string categories, Ranges ranges)
    : negated_(negated), categories_(std::move(categories)), ranges_(std::move(ranges)) {
    for (char32_t letter = 0; letter < 128; letter++) {
        if (contains(letter)) ascii_[letter / 64] |= uint64_t{1} << letter % 64;
    }
}

bool Letters::contains(char32_t letter) const {
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

Pattern::Pattern(const unsigned char **programs) : program_(Reader(*programs).program()) {
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
                if (step.kind == Step::SET || step.second) return;
                break;
            case Step::SPLIT: find_first_letters(step.second, seen); [[fallthrough]];
            case Step::JUMP:
            case Step::AHEAD:
            case Step::NOT_AHEAD:
            case Step::BEHIND:
            case Step::NOT_BEHIND: number = step.first - 1; break;
            case Step::SAME:
            case Step::SAME_IGNORING_CASE:
            case Step::MATCH:
                first_[0] = first_[1] = ~uint64_t{0};
                first_beyond_ascii_ = true;
                first_nothing_ = true;
                return;
            default: break;
        }
    }
}

bool Pattern::match_from(View text, size_t start, size_t end, bool whole, Match &found) const {
    found.pattern_ = this, found.text_ = text;
    found.slots_.fill(UNSET);
    Runner runner(program_, text, end, found.slots_);
    runner.position = start;
    if (!runner.run(0, whole)) return false;
    found.slots_[0] = static_cast<uint32_t>(start), found.slots_[1] = static_cast<uint32_t>(runner.position);
    return true;
}

bool Pattern::search(View text, size_t start, size_t end, Match &found) const {
    for (size_t place = start; place < end + first_nothing_; place++) {
        if (place < end && !may_begin(text[place])) continue;
        if (match(text, place, end, found)) return true;
    }
    return false;
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

}  // namespace kokoro
