#include "file_content.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
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

struct stat status_of(const Descriptor &file) {
    struct stat status;
    if (fstat(file.number(), &status)) throw SystemError{errno};
    return status;
}

int64_t change_time(const struct stat &status) {
#if defined(__APPLE__)
    return status.st_mtimespec.tv_sec * int64_t{1000000000} + status.st_mtimespec.tv_nsec;
#else
    return status.st_mtim.tv_sec * int64_t{1000000000} + status.st_mtim.tv_nsec;
#endif
}

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

Content::Content(std::vector<Descriptor> files) : files_(std::move(files)) {
    int64_t end = 0;
    for (const Descriptor &file : files_) ends_.push_back(end += status_of(file).st_size);
}

Content::State Content::state() const {
    State found{};
    for (const Descriptor &file : files_) {
        struct stat status = status_of(file);
        found = {found.size + status.st_size, std::max(found.changed, change_time(status))};
    }
    return found;
}

Content::Place Content::find(int64_t position) const {
    size_t file = std::upper_bound(ends_.begin(), ends_.end() - 1, position) - ends_.begin();
    // The last file may have grown.
    bool is_last = file + 1 == files_.size();
    return {file, file ? ends_[file - 1] : 0, is_last ? INT64_MAX : ends_[file]};
}

#if defined(__wasm__)

// Returns where the page or Node has put a whole file, which it has compared, or null.
extern "C" __attribute__((import_module("kokoro"), import_name("map_file"))) void *kokoro_map_file(int descriptor);

Mapping::Mapping(const Content &file, size_t size) : size_(size) {
    if (file.files().size() > 1) throw SystemError{ENOTSUP};
    data_ = static_cast<char *>(kokoro_map_file(file.files().front().number()));
    if (!data_) throw SystemError{ENOMEM};
}

// The memory belongs to whoever has filled it.
Mapping::~Mapping() = default;

#else

static char *map_at(char *place, int64_t size, int flags, int file) {
    void *memory = mmap(place, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | flags, file, 0);
    if (memory == MAP_FAILED) throw SystemError{errno};
    return static_cast<char *>(memory);
}

// Maps each part over its place in `memory`, or copies it there.
static void map_parts(const Content &file, char *memory, int64_t size) {
    for (int64_t position = 0; position < size;) {
        Content::Place place = file.find(position);
        int64_t length = std::min(place.end, size) - position;
        char *target = memory + position;
        if (position % sysconf(_SC_PAGESIZE) == 0) {
            map_at(target, length, MAP_FIXED, file.files()[place.file].number());
        } else {
            read_pieces(file, position, length, [&](std::string_view piece) {
                target = std::copy(piece.begin(), piece.end(), target);
            });
        }
        position += length;
    }
}

Mapping::Mapping(const Content &file, size_t size) : size_(size) {
    if (file.files().size() == 1) {
        data_ = map_at(nullptr, size, 0, file.files().front().number());
        return;
    }
    data_ = map_at(nullptr, size, MAP_ANONYMOUS, -1);
    try {
        map_parts(file, data_, size);
    } catch (...) {
        munmap(data_, size);
        throw;
    }
}

Mapping::~Mapping() { munmap(data_, size_); }

#endif

void read_pieces(const Content &file, int64_t start, int64_t most, std::function<void(std::string_view)> take) {
    std::vector<char> buffer(std::min(PIECE, most));
    while (most > 0) {
        Content::Place place = file.find(start);
        size_t size = std::min({static_cast<int64_t>(buffer.size()), most, place.end - start});
        ssize_t count = pread(file.files()[place.file].number(), buffer.data(), size, start - place.start);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) throw SystemError{errno};
        if (count == 0) return;
        take({buffer.data(), static_cast<size_t>(count)});
        start += count;
        most -= count;
    }
}

std::string sha256_of_file(const Content &file, int64_t start, int64_t most) {
    Sha256 hash;
    read_pieces(file, start, most, [&](std::string_view piece) { hash.add(piece.data(), piece.size()); });
    return hash.digest();
}

}  // namespace kokoro
