// What the harnesses for libFuzzer share. Each takes bytes, and aborts where the library breaks a promise.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/utf8.h"
#include "kokoro.h"

#define REQUIRE(condition) \
    if (!(condition)) { \
        std::fprintf(stderr, "%s:%d: %s; %s\n", __FILE__, __LINE__, #condition, kokoro_last_error()); \
        std::abort(); \
    }

// Returns the directory of a bundle that speaks text.
inline std::string bundle_directory() {
    const char *directory = std::getenv("KOKORO_FUZZ_BUNDLE");
    REQUIRE(directory);
    return directory;
}

// A refusal is one of those that a caller, the input or the bundle can cause, and its message is text.
inline void require_refusal(int code, const std::string &message) {
    REQUIRE(code / 100 >= 2 && code / 100 <= 5);
    REQUIRE(!message.empty() && kokoro::find_invalid_utf8(message) == message.npos);
}
