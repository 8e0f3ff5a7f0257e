#include "schema.h"

#include <algorithm>
#include <cstring>

#include "../base/errors.h"
#include "../base/utf8.h"

namespace kokoro {

void refuse_manifest(const std::string &place, const std::string &expected, const std::string &found) {
    throw Error(KOKORO_MANIFEST_ERROR, "manifest.msgpack, " + place + ": expected " + expected + ", found " +
                                           (found.size() > 80 ? found.substr(0, 77) + "..." : found) +
                                           ". Export the bundle again.");
}

namespace {

// Returns a value for messages.
std::string shown(const Value &value) {
    struct Show {
        std::string operator()(bool each) const { return each ? "true" : "false"; }
        std::string operator()(int64_t each) const { return std::to_string(each); }
        std::string operator()(uint64_t each) const { return std::to_string(each); }
        std::string operator()(double each) const { return std::to_string(each); }
        std::string operator()(const std::string &each) const {
            std::string safe;
            for (char32_t point : decode_utf8(each)) safe += is_printable(point) ? encode_utf8({&point, 1}) : "?";
            return "'" + safe + "'";
        }
        std::string operator()(const Array &each) const {
            return "an array of " + std::to_string(each.size()) + " elements";
        }
        std::string operator()(const Map &each) const { return "a map of " + std::to_string(each.size()) + " keys"; }
    };
    return std::visit(Show(), value.content);
}

bool is_letter_or_digit(char each) {
    return (each >= '0' && each <= '9') || (each >= 'A' && each <= 'Z') || (each >= 'a' && each <= 'z');
}

// Returns true if no system takes the part for anything but a name: no dot at its ends, no device of Windows.
bool is_path_part(const std::string &part) {
    auto allowed = [](char each) { return is_letter_or_digit(each) || std::strchr("._-", each); };
    if (part.empty() || part.front() == '.' || part.back() == '.' ||
        !std::all_of(part.begin(), part.end(), allowed)) {
        return false;
    }
    std::string stem = part.substr(0, part.find('.'));
    for (char &each : stem) each |= each >= 'A' && each <= 'Z' ? 0x20 : 0;
    if (stem == "con" || stem == "prn" || stem == "aux" || stem == "nul") return false;
    bool port = stem.size() == 4 && (stem.substr(0, 3) == "com" || stem.substr(0, 3) == "lpt");
    return !(port && stem[3] >= '0' && stem[3] <= '9');
}

}  // namespace

void Node::refuse(const std::string &expected) const {
    refuse_manifest(path.empty() ? "top level" : path, expected, shown(value));
}

const Map &Node::map() const {
    const Map *found = value.map();
    if (!found) refuse("a map");
    return *found;
}

const Array &Node::array(size_t at_least, size_t at_most) const {
    const Array *found = value.array();
    if (!found || found->size() < at_least || found->size() > at_most) {
        refuse("an array of " + std::to_string(at_least) + " to " + std::to_string(at_most) + " elements");
    }
    return *found;
}

void Node::check_keys(const std::vector<std::string> &names) const {
    size_t known = 0;
    for (const auto &entry : map()) known += std::count(names.begin(), names.end(), entry.first);
    if (known != names.size() || map().size() != names.size()) {
        std::vector<std::string> keys;
        for (const auto &entry : map()) keys.push_back(shown({entry.first}));
        refuse_manifest(path.empty() ? "top level" : path, "exactly the keys " + joined(names), joined(keys));
    }
}

Node Node::child(const std::string &name) const {
    map();
    const Value *found = value.find(name);
    if (!found) refuse("the key '" + name + "'");
    return Node(*found, path.empty() ? name : path + "." + name);
}

std::vector<std::pair<std::string, Node>> Node::entries() const {
    std::vector<std::pair<std::string, Node>> found;
    for (const auto &[key, each] : map()) found.emplace_back(key, Node(each, path + "[" + shown({key}) + "]"));
    return found;
}

std::vector<std::pair<std::string, Node>> Node::named() const {
    auto found = entries();
    for (const auto &[key, node] : found) {
        Value name{key};
        Node(name, node.path).text();
    }
    return found;
}

std::string Node::text(size_t at_least, size_t at_most) const {
    const std::string *found = value.string();
    std::u32string points = found ? decode_utf8(*found) : U"";
    if (!found || points.size() < at_least || points.size() > at_most) {
        refuse("a string of " + std::to_string(at_least) + " to " + std::to_string(at_most) + " characters");
    }
    if (!std::all_of(points.begin(), points.end(), is_printable)) refuse("a string of printable characters");
    return *found;
}

std::string Node::one_of(std::initializer_list<const char *> choices) const {
    const std::string *found = value.string();
    if (!found || std::find(choices.begin(), choices.end(), *found) == choices.end()) {
        refuse("one of " + joined({choices.begin(), choices.end()}));
    }
    return *found;
}

std::string Node::digest() const {
    const std::string *found = value.string();
    auto hexadecimal = [](char each) { return (each >= '0' && each <= '9') || (each >= 'a' && each <= 'f'); };
    if (!found || found->size() != 64 || !std::all_of(found->begin(), found->end(), hexadecimal)) {
        refuse("64 lower-case hexadecimal digits");
    }
    return *found;
}

int64_t Node::integer(int64_t lowest, int64_t highest) const {
    const uint64_t *natural = std::get_if<uint64_t>(&value.content);
    const int64_t *negative = std::get_if<int64_t>(&value.content);
    if (!natural && !negative) refuse("an integer");
    bool beyond = natural && *natural > static_cast<uint64_t>(INT64_MAX);
    int64_t found = natural ? static_cast<int64_t>(*natural) : *negative;
    if (beyond || found < lowest || found > highest) {
        refuse("an integer from " + std::to_string(lowest) + " to " + std::to_string(highest));
    }
    return found;
}

bool Node::boolean() const {
    const bool *found = std::get_if<bool>(&value.content);
    if (!found) refuse("true or false");
    return *found;
}

double Node::number() const {
    const double *found = std::get_if<double>(&value.content);
    if (!found) refuse("a floating-point number");
    return *found;
}

void Node::check_scalar() const {
    if (value.map() || value.array()) refuse("a string, a number or a boolean");
    if (value.string()) text(0, 1000);
}

std::string Node::relative_path() const {
    std::string found = text();
    size_t parts = std::count(found.begin(), found.end(), '/') + 1;
    if (parts > 8) refuse("a path of at most 8 parts");
    for (size_t start = 0, number = 0; number < parts; number++) {
        size_t end = std::min(found.find('/', start), found.size());
        if (!is_path_part(found.substr(start, end - start))) {
            refuse("a relative path of letters, digits, '.', '_', '-', joined by '/'");
        }
        start = end + 1;
    }
    return found;
}

}  // namespace kokoro
