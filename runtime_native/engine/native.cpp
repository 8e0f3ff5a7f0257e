#include "native.h"

#if !defined(KOKORO_ONE_MODULE)

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "../base/errors.h"

namespace kokoro {

namespace {

[[noreturn]] void fail(const std::string &name) {
    throw Error(KOKORO_RESOURCE_ERROR, "Copying " + name + " for the system's loader failed (" + std::strerror(errno) +
                                           "): free memory or close files, and try again.");
}

void write_all(int descriptor, const std::string &content, const std::string &name) {
    for (size_t written = 0; written < content.size();) {
        ssize_t count = write(descriptor, content.data() + written, content.size() - written);
        if (count < 0 && errno != EINTR) fail(name);
        written += count < 0 ? 0 : count;
    }
}

#if defined(__linux__)

// Attempts to make a file in memory read-only, each of up to 0.16 s.
constexpr int SEALINGS = 30;

// Returns an empty file in memory, or none where the system allows none or where no path leads to it.
Descriptor make_memory(const std::string &name) {
    Descriptor memory(memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
    std::string path = "/proc/self/fd/" + std::to_string(memory.number());
    if (memory && access(path.c_str(), F_OK)) return Descriptor();
    return memory;
}

// Makes a file in memory read-only for everybody. Linux itself holds pages while it looks for memory to free, and
// refuses if that takes long.
void seal(const Descriptor &memory, const std::string &name) {
    const int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    for (int attempt = 1; fcntl(memory.number(), F_ADD_SEALS, seals); attempt++) {
        if (errno != EBUSY || attempt == SEALINGS) fail(name);
    }
}

// Returns a path to a file in memory that no other library of this process has, whoever has loaded it: spelled by the
// file's inode. The loader takes a path that it knows for the library that it knows, and descriptors are used again.
std::string own_path(const Descriptor &memory, const std::string &name) {
    struct stat found;
    if (fstat(memory.number(), &found)) fail(name);
    std::string path = "/proc/self/fd/";
    for (uint64_t bits = found.st_ino; bits; bits >>= 1) path += bits & 1 ? "./" : "/";
    return path + std::to_string(memory.number());
}

#endif

}  // namespace

LibraryFile::LibraryFile(const std::string &name, const std::string &content) {
#if defined(__linux__)
    memory_ = make_memory(name);
    if (memory_) {
        write_all(memory_.number(), content, name);
        seal(memory_, name);
        path_ = own_path(memory_, name);
        return;
    }
#endif
    const char *temporary = getenv("TMPDIR");
    directory_ = std::string(temporary && *temporary ? temporary : "/tmp") + "/kokoro-library-XXXXXX";
    if (!mkdtemp(directory_.data())) fail(name);
    path_ = directory_ + "/library.so";
    Descriptor file(open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file) fail(name);
    write_all(file.number(), content, name);
}

LibraryFile::~LibraryFile() {
    if (directory_.empty()) return;
    unlink(path_.c_str());
    rmdir(directory_.c_str());
}

}  // namespace kokoro

#endif
