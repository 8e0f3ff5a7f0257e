// Loading libraries from bytes that were checked, rather than from a file that may have changed since.
#pragma once

#if !defined(KOKORO_ONE_MODULE)

#include <string>

#include "../format/file_content.h"

namespace kokoro {

// A path under which the system's loader finds given bytes, as long as this object lives: on Linux that of a file in
// memory that can no longer be written to, elsewhere (or where the system forbids such files) of a private copy.
class LibraryFile {
public:
    // Takes a name for debuggers and the bytes of a shared library. Throws RESOURCE_ERROR.
    LibraryFile(const std::string &name, const std::string &content);
    ~LibraryFile();
    LibraryFile(const LibraryFile &) = delete;
    LibraryFile &operator=(const LibraryFile &) = delete;

    const std::string &path() const { return path_; }

private:
    Descriptor memory_;
    std::string directory_;  // of a copy
    std::string path_;
};

}  // namespace kokoro

#endif
