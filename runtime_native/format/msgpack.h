// A strict reader of the part of msgpack that the manifest uses; bundles/FORMAT.md has its limits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace kokoro {

struct Value;
using Array = std::vector<Value>;
using Map = std::vector<std::pair<std::string, Value>>;  // in the order of the file

// An integer is negative, or not negative: together they have more values than either type.
struct Value {
    std::variant<bool, int64_t, uint64_t, double, std::string, Array, Map> content;

    const Array *array() const { return std::get_if<Array>(&content); }
    const Map *map() const { return std::get_if<Map>(&content); }
    const std::string *string() const { return std::get_if<std::string>(&content); }
    // Returns the value under a key of a map, null if this is no map or lacks it.
    const Value *find(std::string_view key) const;
};

// Returns the one value that fills the bytes from the first to the last. Throws MSGPACK_ERROR.
Value unpack(std::string_view bytes);

}  // namespace kokoro
