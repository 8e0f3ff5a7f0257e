// The one exception of the library. `kokoro.cpp` turns it into a return value; it never crosses the C interface.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "../include/kokoro.h"

namespace kokoro {

// Carries a code of `kokoro.h` and a message: what was expected, what was found and what to do.
class Error : public std::runtime_error {
public:
    Error(kokoro_error code, const std::string &message) : std::runtime_error(message), code(code) {}

    const kokoro_error code;
};

// Returns names with commas between them, as messages list them.
inline std::string joined(const std::vector<std::string> &names) {
    std::string all;
    for (const std::string &name : names) all += (all.empty() ? "" : ", ") + name;
    return all;
}

}  // namespace kokoro
