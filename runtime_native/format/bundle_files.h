// A bundle's directory and files: a file is used only if its content has the digest that the manifest lists. A file
// that is too large for a registry lies in parts, which are read as one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "blocks.h"
#include "file_content.h"
#include "manifest.h"

namespace kokoro {

class BundleFiles {
public:
    // Opens the directory; a link to it is followed, this once. Throws MISSING_FILE_ERROR or UNREADABLE_FILE_ERROR.
    explicit BundleFiles(const std::string &directory);

    // Returns the manifest's bytes, and of a file that is too large its beginning. Throws bundle errors.
    std::string read_manifest() const;

    // Takes the manifest's list of files, on which all later calls rely. Where the stages are in this module, the files of
    // their folder are not read, and need not be there.
    void expect(const Manifest &manifest);

    // Returns the paths of the files that may be read.
    std::set<std::string> expected() const;

    // Compares every listed file's kind, size and SHA-256 on several threads. The files `hold` stay in memory until
    // they are read, and the file `keep` stays open. Throws bundle errors.
    void verify(int threads, const std::string &keep, const std::set<std::string> &hold);

    // Returns a whole file, whose digest was compared with that of the bytes that are returned. Throws
    // CHANGED_FILE_ERROR if it was verified before and differs now, and other bundle errors.
    std::string read(const std::string &path);

    // Returns the memory of a whole file; it stays open. Throws bundle errors.
    std::unique_ptr<Mapping> map(const std::string &path);

    // Throws CHANGED_FILE_ERROR if somebody has written to the mapped file: touching a page that it no longer has
    // would end the process.
    void check_unchanged();

    // Returns true if the path leads to another directory than when this one was opened.
    bool replaced() const;

    // Closes the directory; files are found by its path from now on.
    void release_directory();

    // Returns the path of a file for messages.
    std::string place(const std::string &path) const { return directory_ + "/" + path; }

private:
    struct Opened {
        Content content;
        Content::State state{};  // when its content was compared
    };
    struct Found;  // the status of a file or of one of its parts

    template <class Function>
    auto typed(const std::string &path, Function function) const;
    [[noreturn]] void fail(const std::string &path, const SystemError &failure) const;
    [[noreturn]] void changed(const std::string &path) const;

    std::vector<Found> find(const std::string &path) const;
    Opened open_regular(const std::string &path) const;
    Descriptor open_file(const std::string &path) const;
    std::string content(const std::string &path) const;
    void check_contents() const;
    void check_size(const FileEntry &entry, int64_t found) const;
    void compare_block(const FileEntry &entry, const Block &block, const Opened &opened) const;
    void compare(const std::string &name, const std::string &expected, const std::string &found) const;
    int directory() const;
    std::string path_in_directory(const std::string &path) const;

    std::string directory_;  // as the caller gave it
    std::string place_;      // leads to the directory even if a link to it changes
    Descriptor root_;        // the directory until it is released
    std::map<std::string, FileEntry> entries_;
    Blocks blocks_;
    std::string mapped_;  // the path of the file that stays open
    Opened opened_;
    std::mutex mutex_;  // of what is held
    std::map<std::string, std::string> held_;
    bool verified_ = false;
};

}  // namespace kokoro
