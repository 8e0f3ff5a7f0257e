// Raw DEFLATE (RFC 1951).
#pragma once

#include <string>
#include <string_view>

namespace kokoro {

// Returns the content of a stream, or nothing if it is damaged, cut off or larger than `most` bytes.
// `used`, if given, receives the number of its bytes.
bool inflate(std::string_view stream, size_t most, std::string &content, size_t *used = nullptr);

// Returns the content of a zlib stream (RFC 1950) in the same way; its checksum is compared.
bool inflate_zlib(std::string_view stream, size_t most, std::string &content);

}  // namespace kokoro
