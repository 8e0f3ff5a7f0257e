// Open files: reading them in pieces, their digests, and mapping them into memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

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

// An open file that may lie in several, one after another.
class Content {
public:
    struct State {
        int64_t size;
        int64_t changed;  // time in nanoseconds
    };

    Content() = default;
    // Takes open files in their order. Throws SystemError.
    explicit Content(std::vector<Descriptor> files);

    const std::vector<Descriptor> &files() const { return files_; }
    explicit operator bool() const { return !files_.empty(); }

    // Returns the size of all, and the time of their last change. Throws SystemError.
    State state() const;

    // The number of a file, its first byte's offset, and its end's.
    struct Place {
        size_t file;
        int64_t start, end;
    };
    // Returns where the byte at an offset lies.
    Place find(int64_t position) const;

private:
    std::vector<Descriptor> files_;
    std::vector<int64_t> ends_;
};

// The memory of a whole file, mapped copy-on-write. Where a part of it does not begin with a page, that is a copy.
class Mapping {
public:
    // Throws SystemError.
    Mapping(const Content &file, size_t size);
    ~Mapping();
    Mapping(const Mapping &) = delete;
    Mapping &operator=(const Mapping &) = delete;

    char *data() const { return data_; }

private:
    char *data_ = nullptr;
    [[maybe_unused]] size_t size_;
};

// Calls `take` with a file's bytes from `start` on, at most `most`, in pieces. Throws SystemError.
void read_pieces(const Content &file, int64_t start, int64_t most, std::function<void(std::string_view)> take);

// Returns the SHA-256 of at most `most` bytes from `start` on, in hexadecimal. Throws SystemError.
std::string sha256_of_file(const Content &file, int64_t start, int64_t most);

}  // namespace kokoro
