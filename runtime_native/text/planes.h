// The parts of a compressed file of numbers: raw DEFLATE (RFC 1951), as bundles/FORMAT.md describes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kokoro::text {

// Throws TEXT_DATA_ERROR.
[[noreturn]] void refuse_data(const char *name, const std::string &reason);

// The content of such a file, one part after the other.
class Planes {
public:
    // Takes the name of the data, the compressed bytes, and the number of bytes before `rest`. Throws TEXT_DATA_ERROR
    // if the stream is damaged or has another length.
    Planes(const char *name, std::string_view packed, size_t fixed);

    // Returns numbers of `size` bytes: the lowest bytes of all come first, then the next ones.
    std::vector<uint32_t> numbers(size_t count, size_t size);
    // Returns hashes, from the distances between them.
    std::vector<uint64_t> keys(size_t count);
    // Returns numbers of a byte.
    std::string_view bytes(size_t count);
    // Returns all that is left.
    std::string_view rest() const { return std::string_view(content_).substr(start_); }

private:
    std::string content_;
    size_t start_ = 0;
};

}  // namespace kokoro::text
