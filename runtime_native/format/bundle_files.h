// A bundle's directory and files: a file is used only if its content has the digest that the manifest lists.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "blocks.h"
#include "manifest.h"

namespace kokoro {

// The memory of a whole file, mapped copy-on-write.
class Mapping {
public:
    Mapping(int descriptor, size_t size);
    ~Mapping();
    Mapping(const Mapping &) = delete;
    Mapping &operator=(const Mapping &) = delete;

    char *data() const { return data_; }

private:
    char *data_ = nullptr;
    size_t size_;
};

class BundleFiles {
public:
    // Opens the directory. Throws MISSING_FILE_ERROR or UNREADABLE_FILE_ERROR.
    explicit BundleFiles(const std::string &directory);
    ~BundleFiles();

    // Returns the manifest's bytes. Throws MISSING_FILE_ERROR and other bundle errors.
    std::string read_manifest();

    // Takes the manifest's list of files, which all that follows goes by.
    void expect(const Manifest &manifest);

    // Compares every listed file's kind, size and SHA-256 on several threads. The files `hold` are kept in memory
    // until they are read, and the file `keep` stays open.
    void verify(int threads, const std::string &keep, const std::set<std::string> &hold);

    // Returns a whole file, whose digest was compared with that of the bytes that are returned.
    std::string read(const std::string &path);

    // Returns the memory of a whole file; it stays open.
    std::unique_ptr<Mapping> map(const std::string &path);

    // Throws CHANGED_FILE_ERROR if somebody has written to the mapped file.
    void check_unchanged();

    // Returns true if the path leads to another directory than when this one was opened.
    bool replaced() const;

    // Closes the directory; what is read from now on is found by its path.
    void release_directory();

    // Returns the path of a file for messages.
    std::string place(const std::string &path) const;

private:
    struct Opened;

    Opened open_regular(const std::string &path) const;
    std::string content(const std::string &path) const;
    void check_contents() const;
    void compare_block(const FileEntry &entry, const Block &block) const;
    [[noreturn]] void changed(const std::string &path) const;

    std::string directory_;  // as the caller gave it
    std::string place_;      // without links
    int root_ = -1;          // the directory until it is released
    std::map<std::string, FileEntry> entries_;
    Blocks blocks_;
    std::map<std::string, std::unique_ptr<Opened>> opened_;
    std::map<std::string, std::string> held_;
    bool verified_ = false;
};

}  // namespace kokoro
