// From a written pattern to its program.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

#include "../utf8.h"
#include "pattern.h"

namespace kokoro::text {

namespace {

constexpr uint32_t UNBOUNDED = 0xFFFFFFFF;

struct Node;
using Nodes = std::vector<Node>;

struct Node {
    enum Kind { STEP, SEQUENCE, CHOICE, GROUP, REPEAT, LOOK } kind;
    Step step{Step::MATCH};  // of STEP; of LOOK its kind
    Nodes parts = {};
    uint32_t least = 0, most = 0;  // of REPEAT; of GROUP its number
    bool lazy = false;
};

class Parser {
public:
    Parser(std::string_view written, Program &program) : pattern_(decode_utf8(written)), program_(program) {
        program_.names.emplace_back();
        if (take(U"(?s)")) dot_has_line_feed_ = true;
        if (take(U"(?i)")) ignores_case_ = true;
    }

    Node choice() {
        Node found{Node::CHOICE};
        do found.parts.push_back(sequence());
        while (take(U"|"));
        return found.parts.size() == 1 ? std::move(found.parts[0]) : found;
    }

private:
    bool take(View expected) {
        if (View(pattern_).substr(position_, expected.size()) != expected) return false;
        position_ += expected.size();
        return true;
    }

    char32_t peek() const { return position_ < pattern_.size() ? pattern_[position_] : 0; }

    Node sequence() {
        Node found{Node::SEQUENCE};
        while (position_ < pattern_.size() && peek() != '|' && peek() != ')') {
            Node part = atom();
            while (quantify(part)) {
            }
            found.parts.push_back(std::move(part));
        }
        return found;
    }

    uint32_t number() {
        uint32_t value = 0;
        while (peek() >= '0' && peek() <= '9') value = 10 * value + (pattern_[position_++] - '0');
        return value;
    }

    bool quantify(Node &part) {
        uint32_t least = 0, most = UNBOUNDED;
        if (take(U"*")) {
        } else if (take(U"+")) {
            least = 1;
        } else if (take(U"?")) {
            most = 1;
        } else if (take(U"{")) {
            least = most = number();
            if (take(U",")) most = peek() == '}' ? UNBOUNDED : number();
            take(U"}");
        } else {
            return false;
        }
        Node repeat{Node::REPEAT};
        repeat.least = least, repeat.most = most, repeat.lazy = take(U"?");
        repeat.parts.push_back(std::move(part));
        part = std::move(repeat);
        return true;
    }

    Node atom() {
        if (take(U"(?:")) return closed(choice());
        if (take(U"(?i:")) {
            bool outside = ignores_case_;
            ignores_case_ = true;
            Node found = closed(choice());
            ignores_case_ = outside;
            return found;
        }
        if (take(U"(?=")) return look(Step::AHEAD);
        if (take(U"(?!")) return look(Step::NOT_AHEAD);
        if (take(U"(?<=")) return look(Step::BEHIND);
        if (take(U"(?<!")) return look(Step::NOT_BEHIND);
        if (take(U"(?P=")) return same(name(U')'));
        if (take(U"(?P<")) return group(name(U'>'));
        if (take(U"(")) return group({});
        if (take(U"[")) return letters();
        if (take(U"^")) return {Node::STEP, {Step::BEGIN}};
        if (take(U"$")) return {Node::STEP, {Step::END_OR_LINE_FEED}};
        if (take(U"\\Z")) return {Node::STEP, {Step::END}};
        if (take(U"\\b")) return {Node::STEP, {Step::BOUNDARY}};
        if (take(U".")) {
            Letters any;
            if (!dot_has_line_feed_) any.add('\n', '\n');
            return add_set(any, true);
        }
        if (peek() == '\\') return escaped();
        return letter(pattern_[position_++]);
    }

    Node closed(Node found) {
        take(U")");
        return found;
    }

    Node look(Step::Kind kind) {
        Node found{Node::LOOK, {kind}};
        found.parts.push_back(closed(choice()));
        return found;
    }

    std::string name(char32_t end) {
        size_t start = position_;
        position_ = pattern_.find(end, start) + 1;
        return encode_utf8(View(pattern_).substr(start, position_ - 1 - start));
    }

    Node group(std::string name) {
        Node found{Node::GROUP};
        found.least = static_cast<uint32_t>(program_.names.size());
        program_.names.push_back(std::move(name));
        found.parts.push_back(closed(choice()));
        return found;
    }

    Node same(const std::string &name) {
        auto found = std::find(program_.names.begin(), program_.names.end(), name);
        return same(static_cast<uint32_t>(found - program_.names.begin()));
    }

    Node same(uint32_t group) {
        return {Node::STEP, {ignores_case_ ? Step::SAME_IGNORING_CASE : Step::SAME, group}};
    }

    Node letter(char32_t letter) {
        if (ignores_case_) return {Node::STEP, {Step::LETTER_IGNORING_CASE, simple_lower(letter)}};
        return {Node::STEP, {Step::LETTER, letter}};
    }

    // Reads an escape of one letter; nothing if it is a category's.
    std::optional<char32_t> escaped_letter() {
        char32_t kind = pattern_[++position_];
        position_++;
        if (View(U"wWdDsS").find(kind) != View::npos) return std::nullopt;
        if (kind == 'n') return U'\n';
        if (kind == 't') return U'\t';
        size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
        if (!digits) return kind;
        std::string code = encode_utf8(View(pattern_).substr(position_, digits));
        position_ += digits;
        return static_cast<char32_t>(std::strtoul(code.c_str(), nullptr, 16));
    }

    Node escaped() {
        char32_t kind = pattern_[position_ + 1];
        if (kind >= '1' && kind <= '9') {
            position_ += 2;
            return same(kind - '0');
        }
        if (auto found = escaped_letter()) return letter(*found);
        Letters set;
        set.add_category(static_cast<char>(kind));
        return add_set(set, false);
    }

    Node letters() {
        Letters set;
        bool negated = take(U"^");
        for (bool first = true; first || peek() != ']'; first = false) {
            std::optional<char32_t> from = in_set(set);
            if (!from) continue;
            bool range = peek() == '-' && pattern_[position_ + 1] != ']';
            position_ += range;
            set.add(*from, range ? *in_set(set) : *from);
        }
        position_++;
        return add_set(set, negated);
    }

    // Reads a letter of a set; nothing if it was a category, which is added.
    std::optional<char32_t> in_set(Letters &set) {
        if (peek() != '\\') return pattern_[position_++];
        char32_t kind = pattern_[position_ + 1];
        auto found = escaped_letter();
        if (!found) set.add_category(static_cast<char>(kind));
        return found;
    }

    Node add_set(Letters set, bool negated) {
        set.finish(negated, ignores_case_);
        program_.sets.push_back(std::move(set));
        return {Node::STEP, {Step::SET, static_cast<uint32_t>(program_.sets.size() - 1)}};
    }

    Text pattern_;
    Program &program_;
    size_t position_ = 0;
    bool ignores_case_ = false, dot_has_line_feed_ = false;
};

uint32_t width(const Node &node) {
    if (node.kind == Node::STEP) return node.step.kind <= Step::SET;
    if (node.kind == Node::LOOK) return 0;
    if (node.kind == Node::CHOICE) return width(node.parts[0]);
    uint32_t sum = 0;
    for (const Node &part : node.parts) sum += width(part);
    return node.kind == Node::REPEAT ? sum * node.least : sum;
}

class Compiler {
public:
    explicit Compiler(Program &program) : program_(program), steps_(program.steps) {}

    void add(const Node &node) {
        switch (node.kind) {
            case Node::STEP: steps_.push_back(node.step); break;
            case Node::SEQUENCE:
                for (const Node &part : node.parts) add(part);
                break;
            case Node::CHOICE: choice(node.parts); break;
            case Node::GROUP:
                steps_.push_back({Step::SAVE, 2 * node.least});
                add(node.parts[0]);
                steps_.push_back({Step::SAVE, 2 * node.least + 1});
                break;
            case Node::REPEAT: repeat(node, node.parts[0]); break;
            case Node::LOOK: look(node); break;
        }
    }

private:
    uint32_t here() const { return static_cast<uint32_t>(steps_.size()); }

    void choice(const Nodes &parts) {
        std::vector<uint32_t> jumps;
        for (size_t index = 0; index + 1 < parts.size(); index++) {
            uint32_t split = here();
            steps_.push_back({Step::SPLIT, split + 1});
            add(parts[index]);
            jumps.push_back(here());
            steps_.push_back({Step::JUMP});
            steps_[split].second = here();
        }
        add(parts.back());
        for (uint32_t jump : jumps) steps_[jump].first = here();
    }

    void repeat(const Node &node, const Node &part) {
        if (part.kind == Node::STEP && part.step.kind <= Step::SET) {
            Step::Kind kind = node.lazy ? Step::LAZY_REPEAT : Step::REPEAT;
            steps_.push_back({kind, set_of(part.step), 0, node.least, node.most});
            return;
        }
        for (uint32_t count = 0; count < node.least; count++) add(part);
        if (node.most == UNBOUNDED) {
            uint32_t split = add_split(node.lazy);
            add(part);
            steps_.push_back({Step::JUMP, split});
            end_split(split, node.lazy);
            return;
        }
        std::vector<uint32_t> splits;
        for (uint32_t count = node.least; count < node.most; count++) {
            splits.push_back(add_split(node.lazy));
            add(part);
        }
        for (uint32_t split : splits) end_split(split, node.lazy);
    }

    uint32_t add_split(bool lazy) {
        steps_.push_back({Step::SPLIT, lazy ? 0 : here() + 1, lazy ? here() + 1 : 0});
        return here() - 1;
    }

    void end_split(uint32_t split, bool lazy) {
        (lazy ? steps_[split].first : steps_[split].second) = here();
    }

    uint32_t set_of(const Step &step) {
        if (step.kind == Step::SET) return step.first;
        Letters set;
        set.add(step.first, step.first);
        set.finish(false, step.kind == Step::LETTER_IGNORING_CASE);
        program_.sets.push_back(std::move(set));
        return static_cast<uint32_t>(program_.sets.size() - 1);
    }

    void look(const Node &node) {
        uint32_t place = here();
        steps_.push_back({node.step.kind, 0, width(node.parts[0])});
        add(node.parts[0]);
        steps_[place].one_letter = here() == place + 2 && steps_.back().kind <= Step::SET;
        for (uint32_t step = place; step < here(); step++) {
            if (steps_[step].kind == Step::SAVE) steps_[place].saves = true;
        }
        steps_.push_back({Step::MATCH});
        steps_[place].first = here();
    }

    Program &program_;
    std::vector<Step> &steps_;
};

}  // namespace

Program compile_pattern(std::string_view written) {
    Program program;
    Node root = Parser(written, program).choice();
    Compiler(program).add(root);
    program.steps.push_back({Step::MATCH});
    return program;
}

}  // namespace kokoro::text
