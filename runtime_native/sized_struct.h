// Structs that a caller fills, after a header that may be older or newer than this library.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "base/errors.h"

namespace kokoro {

// Returns the struct of a caller in the form of this library. Fields that an older header lacks are zero; those that a
// newer one has added must be zero. `first` is the size of the struct in the first version, which every caller has.
template <class Struct>
Struct known_fields(const Struct *given, size_t first, const std::string &argument) {
    constexpr size_t known = sizeof(Struct), most = 4096;
    const auto *bytes = reinterpret_cast<const unsigned char *>(given);
    if (given->size < first || given->size > most)
        throw Error(KOKORO_ARGUMENT_TYPE_ERROR,
                    "The field 'size' of '" + argument + "' must be from " + std::to_string(first) + " to " +
                        std::to_string(most) + ", found " + std::to_string(given->size) +
                        ": set the struct to zero, and 'size' to its sizeof.");
    if (given->size > known && !std::all_of(bytes + known, bytes + given->size, [](auto byte) { return byte == 0; }))
        throw Error(KOKORO_ARGUMENT_TYPE_ERROR,
                    "The struct '" + argument + "' has a field that this library does not know: expected zeros behind "
                        "its first " + std::to_string(known) + " bytes. Leave the field zero, or use a newer library.");
    Struct result{};
    std::memcpy(&result, bytes, std::min(known, given->size));
    return result;
}

}  // namespace kokoro
