// Open files: reading them in pieces, their digests, and mapping them into memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace kokoro {

// An error of the system, which `BundleFiles` turns into what it means for a file of a bundle.
struct SystemError {
    int number;
    std::string reason() const;
};

// An open file or directory.
class Descriptor {
public:
    Descriptor() = default;
    // Opens a path relative to a directory. Throws SystemError.
    Descriptor(int directory, const std::string &path, int flags);
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(Descriptor &&other) noexcept : number_(other.number_) { other.number_ = -1; }
    Descriptor &operator=(Descriptor &&other) noexcept;
    ~Descriptor();

    int number() const { return number_; }
    explicit operator bool() const { return number_ >= 0; }

private:
    int number_ = -1;
};

// The memory of a whole file, mapped copy-on-write.
class Mapping {
public:
    // Throws SystemError.
    Mapping(const Descriptor &file, size_t size);
    ~Mapping();
    Mapping(const Mapping &) = delete;
    Mapping &operator=(const Mapping &) = delete;

    char *data() const { return data_; }

private:
    char *data_ = nullptr;
    [[maybe_unused]] size_t size_;
};

// Calls `take` with the file's bytes from `start` on, at most `most`, in pieces. Throws SystemError.
void read_pieces(const Descriptor &file, int64_t start, int64_t most, std::function<void(std::string_view)> take);

// Returns the SHA-256 of at most `most` bytes from `start` on, in hexadecimal. Throws SystemError.
std::string sha256_of_file(const Descriptor &file, int64_t start, int64_t most);

}  // namespace kokoro
