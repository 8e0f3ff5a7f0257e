#include "file_content.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#if !defined(__wasm__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <system_error>
#include <vector>

#include "../base/sha256.h"

namespace kokoro {

namespace {

constexpr int64_t PIECE = 256 << 10;  // fits into a core's own cache

}  // namespace

std::string SystemError::reason() const { return std::generic_category().message(number); }

Descriptor::Descriptor(int directory, const std::string &path, int flags) {
    do {
        number_ = openat(directory, path.c_str(), flags | O_CLOEXEC);
    } while (number_ < 0 && errno == EINTR);
    if (number_ < 0) throw SystemError{errno};
}

Descriptor &Descriptor::operator=(Descriptor &&other) noexcept {
    std::swap(number_, other.number_);
    return *this;
}

Descriptor::~Descriptor() {
    if (number_ >= 0) close(number_);
}

#if defined(__wasm__)

// Returns where the page or Node has put a whole file, which it has compared, or null.
extern "C" __attribute__((import_module("kokoro"), import_name("map_file"))) void *kokoro_map_file(int descriptor);

Mapping::Mapping(const Descriptor &file, size_t size) : size_(size) {
    data_ = static_cast<char *>(kokoro_map_file(file.number()));
    if (!data_) throw SystemError{ENOMEM};
}

// The memory belongs to whoever has filled it.
Mapping::~Mapping() = default;

#else

Mapping::Mapping(const Descriptor &file, size_t size) : size_(size) {
    void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file.number(), 0);
    if (memory == MAP_FAILED) throw SystemError{errno};
    data_ = static_cast<char *>(memory);
}

Mapping::~Mapping() { munmap(data_, size_); }

#endif

void read_pieces(const Descriptor &file, int64_t start, int64_t most, std::function<void(std::string_view)> take) {
    std::vector<char> buffer(std::min(PIECE, most));
    while (most > 0) {
        ssize_t count = pread(file.number(), buffer.data(), std::min<int64_t>(buffer.size(), most), start);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) throw SystemError{errno};
        if (count == 0) return;
        take({buffer.data(), static_cast<size_t>(count)});
        start += count;
        most -= count;
    }
}

std::string sha256_of_file(const Descriptor &file, int64_t start, int64_t most) {
    Sha256 hash;
    read_pieces(file, start, most, [&](std::string_view piece) { hash.add(piece.data(), piece.size()); });
    return hash.digest();
}

}  // namespace kokoro
