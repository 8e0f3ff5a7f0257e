// UTF-8 is the encoding of the C interface and of files; code points are what phonemes and words are made of.
#pragma once

#include <string>
#include <string_view>

namespace kokoro {

// Returns the code points of strict UTF-8. Throws TEXT_ENCODING_ERROR with the name of what the bytes are and the offset
// of the first wrong one.
std::u32string decode_utf8(std::string_view bytes, const char *name = "input");

// Returns the offset of the first byte that is not strict UTF-8, or `npos`.
size_t find_invalid_utf8(std::string_view bytes);

// Returns how many of the bytes are there without a character at their end whose last bytes are still to come.
size_t whole_utf8(std::string_view bytes);

// Returns strict UTF-8 with U+FFFD in place of every byte that is wrong.
std::string repaired_utf8(std::string_view bytes);

// Returns the UTF-8 of code points.
std::string encode_utf8(std::u32string_view text);

}  // namespace kokoro
