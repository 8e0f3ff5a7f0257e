// Typed access to decoded msgpack: every mismatch names its place, what was expected and what was found.
#pragma once

#include <array>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "msgpack.h"

namespace kokoro {

// Throws MANIFEST_ERROR.
[[noreturn]] void refuse_manifest(const std::string &place, const std::string &expected, const std::string &found);

// Throws MANIFEST_ERROR unless `holds`.
inline void expect(bool holds, const std::string &place, const std::string &expected, const std::string &found) {
    if (!holds) refuse_manifest(place, expected, found);
}

// Returns true if Python's `str.isprintable` holds for the code point in Unicode 14.
bool is_printable(char32_t point);

// A value of the manifest together with the path that leads to it, such as `stages[0].name`.
class Node {
public:
    Node(const Value &value, std::string path) : value(value), path(std::move(path)) {}

    // Returns the values under `names`; the map must have exactly these keys.
    template <class... Names>
    std::array<Node, sizeof...(Names)> fields(Names... names) const {
        check_keys({names...});
        return {child(names)...};
    }
    void check_keys(const std::vector<std::string> &names) const;
    Node child(const std::string &name) const;

    // Returns key and value of a map whose keys are data; of `named`, names to be shown to people.
    std::vector<std::pair<std::string, Node>> entries() const;
    std::vector<std::pair<std::string, Node>> named() const;

    // Returns what `read` makes of each element of an array.
    template <class Read>
    auto elements(size_t at_least, size_t at_most, Read read) const {
        std::vector<decltype(read(*this))> found;
        const Array &values = array(at_least, at_most);
        for (size_t index = 0; index < values.size(); index++) {
            found.push_back(read(Node(values[index], path + "[" + std::to_string(index) + "]")));
        }
        return found;
    }

    std::string text(size_t at_least = 1, size_t at_most = 200) const;
    std::string one_of(std::initializer_list<const char *> choices) const;
    std::string digest() const;
    int64_t integer(int64_t lowest, int64_t highest) const;
    bool boolean() const;
    double number() const;  // finite, as `unpack` has checked
    void check_scalar() const;
    std::string relative_path() const;

    const Value &value;
    const std::string path;

private:
    [[noreturn]] void refuse(const std::string &expected) const;
    const Map &map() const;
    const Array &array(size_t at_least, size_t at_most) const;
};

inline std::string read_text(const Node &node) { return node.text(); }

}  // namespace kokoro
