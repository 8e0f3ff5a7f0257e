#include "bundle_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <functional>
#include <vector>

#include "../base/errors.h"
#include "../base/threads.h"
#include "../base/sha256.h"

namespace kokoro {

namespace {

constexpr char ADVICE[] = "copy or export the bundle again.";
constexpr int MOST_PARTS = 99;
constexpr int FILE_FLAGS = O_RDONLY | O_NONBLOCK;  // opening a pipe must not wait for its writer
constexpr int64_t MANIFEST_BYTES = (8 << 20) + 1;  // one byte more than there may be

// Errors of the system of which the file is not the cause.
bool is_shortage(int number) {
    return number == EMFILE || number == ENFILE || number == ENOMEM || number == EAGAIN || number == EIO;
}

bool is_absent(int number) { return number == ENOENT || number == ENOTDIR || number == ENAMETOOLONG; }

void check_regular(const struct stat &status, const std::string &place) {
    if (!S_ISREG(status.st_mode)) {
        throw Error(KOKORO_NOT_REGULAR_FILE_ERROR, place + " is a pipe, socket, device or directory; expected a "
                                                           "regular file: " + ADVICE);
    }
}

}  // namespace

struct BundleFiles::Found {
    std::string path;
    struct stat status;
};

// Calls a function, and turns errors of the system into what they mean for the file.
template <class Function>
auto BundleFiles::typed(const std::string &path, Function function) const {
    try {
        return function();
    } catch (const SystemError &failure) {
        fail(path, failure);
    }
}

BundleFiles::BundleFiles(const std::string &directory) : directory_(directory) {
    try {
        std::unique_ptr<char, void (*)(void *)> resolved(realpath(directory.c_str(), nullptr), free);
        if (!resolved) throw SystemError{errno};
        place_ = resolved.get();
        root_ = Descriptor(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY);
    } catch (const SystemError &failure) {
        if (!is_absent(failure.number)) fail("", failure);
        throw Error(KOKORO_MISSING_FILE_ERROR,
                    directory + " is not a bundle: expected a directory with manifest.msgpack.");
    }
}

std::string BundleFiles::read_manifest() const {
    Opened opened = open_regular(MANIFEST_NAME);
    return typed(MANIFEST_NAME, [&] {
        std::string data;
        read_pieces(opened.content, 0, MANIFEST_BYTES, [&](std::string_view piece) { data += piece; });
        return data;
    });
}

void BundleFiles::expect(const Manifest &manifest) {
    for (const FileEntry &entry : manifest.files) entries_[entry.path] = entry;
    blocks_ = Blocks::read(manifest.extensions, entries_);
    mapped_ = manifest.parameter_file;
#if defined(KOKORO_ONE_MODULE)
    // The system's loader has read them elsewhere, with an app's signature inside.
    for (const FileEntry &entry : manifest.files) {
        if (manifest.module && manifest.module->holds(entry.path)) entries_.erase(entry.path);
    }
#endif
}

std::set<std::string> BundleFiles::expected() const {
    std::set<std::string> paths;
    for (const auto &entry : entries_) paths.insert(entry.first);
    return paths;
}

void BundleFiles::verify(int threads, const std::string &keep, const std::set<std::string> &hold) {
    check_contents();
    mapped_ = keep;
    opened_ = open_regular(keep);
    std::vector<std::function<void()>> tasks;
    for (const auto &[path, entry] : entries_) {
        const FileEntry &file = entry;
        if (hold.count(path)) {
            tasks.push_back([this, &file] {
                std::string bytes = content(file.path);
                std::lock_guard<std::mutex> lock(mutex_);
                held_[file.path] = std::move(bytes);
            });
            continue;
        }
        for (const Block &block : blocks_.of(entry)) {
            tasks.push_back([this, &file, block] {
                if (file.path == mapped_) return compare_block(file, block, opened_);
                compare_block(file, block, open_regular(file.path));
            });
        }
    }
    run_tasks(tasks, threads);
    verified_ = true;
}

std::string BundleFiles::read(const std::string &path) {
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (auto held = held_.extract(path)) return std::move(held.mapped());
    }
    try {
        return content(path);
    } catch (const Error &failure) {
        bool differs = failure.code == KOKORO_DAMAGED_FILE_ERROR || failure.code == KOKORO_MISSING_FILE_ERROR ||
                       failure.code == KOKORO_NOT_REGULAR_FILE_ERROR;
        if (verified_ && differs) changed(path);
        throw;
    }
}

std::string BundleFiles::content(const std::string &path) const {
    const FileEntry &entry = entries_.at(path);
    Opened opened = open_regular(path);
    std::string bytes;
    typed(path, [&] {
        // One byte more than there should be shows that the file grew.
        read_pieces(opened.content, 0, entry.bytes + 1, [&](std::string_view piece) { bytes += piece; });
    });
    compare(path, entry.sha256, sha256_of(bytes));
    return bytes;
}

std::unique_ptr<Mapping> BundleFiles::map(const std::string &path) {
    const FileEntry &entry = entries_.at(path);
    if (!opened_.content) opened_ = open_regular(path);
    return typed(path, [&] {
        check_size(entry, opened_.content.state().size);
        return std::make_unique<Mapping>(opened_.content, entry.bytes);
    });
}

void BundleFiles::check_unchanged() {
    if (!opened_.content) return;
    // Before the content: what is written while that is read is noticed next time.
    Content::State state = typed(mapped_, [&] { return opened_.content.state(); });
    if (state.size == opened_.state.size && state.changed == opened_.state.changed) return;
    const FileEntry &entry = entries_.at(mapped_);
    try {
        check_size(entry, state.size);
        for (const Block &block : blocks_.of(entry)) compare_block(entry, block, opened_);
    } catch (const Error &failure) {
        if (failure.code == KOKORO_DAMAGED_FILE_ERROR) changed(mapped_);
        throw;
    }
    opened_.state = state;
}

bool BundleFiles::replaced() const {
    struct stat now, before;
    return root_ && !stat(directory_.c_str(), &now) && !fstat(root_.number(), &before) &&
           (now.st_dev != before.st_dev || now.st_ino != before.st_ino);
}

void BundleFiles::release_directory() {
    root_ = Descriptor();
    held_.clear();
}

void BundleFiles::check_contents() const {
    std::string missing;
    std::vector<std::pair<const FileEntry *, std::vector<Found>>> present;
    for (const auto &[path, entry] : entries_) {
        std::vector<Found> found = find(path);
        if (found.empty()) missing += (missing.empty() ? "" : ", ") + path;
        present.emplace_back(&entry, std::move(found));
    }
    if (!missing.empty()) {
        throw Error(KOKORO_MISSING_FILE_ERROR, "The bundle " + directory_ + " lacks " + missing + ": " + ADVICE);
    }
    for (const auto &[entry, found] : present) {
        int64_t size = 0;
        for (const Found &each : found) {
            check_regular(each.status, place(each.path));
            size += each.status.st_size;
        }
        check_size(*entry, size);
    }
}

// Returns the status of a file, or of each of its parts; nothing if there are none.
std::vector<BundleFiles::Found> BundleFiles::find(const std::string &path) const {
    std::vector<Found> found;
    auto look = [&](const std::string &name) {
        Found each{name, {}};
        bool is_there = !fstatat(directory(), path_in_directory(name).c_str(), &each.status, 0);
        if (is_there) found.push_back(each);
        else if (!is_absent(errno)) fail(name, {errno});
        return is_there;
    };
    if (look(path)) return found;
    for (int number = 1; number <= MOST_PARTS && look(path + ".part" + std::to_string(number)); number++) {
    }
    return found;
}

BundleFiles::Opened BundleFiles::open_regular(const std::string &path) const {
    std::vector<Found> found = find(path);
    // Opening a device may have effects; a pipe may have come since.
    for (const Found &each : found) check_regular(each.status, place(each.path));
    std::vector<Descriptor> files;
    for (const Found &each : found) files.push_back(open_file(each.path));
    if (files.empty()) files.push_back(open_file(path));
    return typed(path, [&] {
        Content content(std::move(files));
        Content::State state = content.state();
        return Opened{std::move(content), state};
    });
}

Descriptor BundleFiles::open_file(const std::string &path) const {
    return typed(path, [&] {
        Descriptor file(directory(), path_in_directory(path), FILE_FLAGS);
        struct stat status;
        if (fstat(file.number(), &status)) throw SystemError{errno};
        check_regular(status, place(path));
        return file;
    });
}

int BundleFiles::directory() const { return root_ ? root_.number() : AT_FDCWD; }

std::string BundleFiles::path_in_directory(const std::string &path) const {
    return root_ ? path : place_ + "/" + path;
}

void BundleFiles::check_size(const FileEntry &entry, int64_t found) const {
    if (found != entry.bytes) {
        throw Error(KOKORO_DAMAGED_FILE_ERROR, place(entry.path) + " should have " + std::to_string(entry.bytes) +
                                                   " bytes and has " + std::to_string(found) + ": " + ADVICE);
    }
}

void BundleFiles::compare_block(const FileEntry &entry, const Block &block, const Opened &opened) const {
    // One byte more than there should be shows that the file grew.
    int64_t most = block.bytes + (block.number == block.last);
    std::string found = typed(entry.path, [&] { return sha256_of_file(opened.content, block.start, most); });
    std::string part;
    if (block.last > 1) part = ", block " + std::to_string(block.number) + " of " + std::to_string(block.last) + ",";
    compare(entry.path + part, block.sha256, found);
}

void BundleFiles::compare(const std::string &name, const std::string &expected, const std::string &found) const {
    if (found != expected) {
        throw Error(KOKORO_DAMAGED_FILE_ERROR,
                    place(name) + " should have SHA-256 " + expected + ", has " + found + ": " + ADVICE);
    }
}

void BundleFiles::fail(const std::string &path, const SystemError &failure) const {
    if (is_shortage(failure.number)) {
        throw Error(KOKORO_RESOURCE_ERROR,
                    "Reading " + place(path) + " failed (" + failure.reason() +
                        "). The cause is this machine, not the bundle: free memory, close files, raise the limits "
                        "of this process (ulimit) or check the disk, and try again.");
    }
    if (!is_absent(failure.number)) {
        throw Error(KOKORO_UNREADABLE_FILE_ERROR,
                    place(path) + " cannot be read (" + failure.reason() + "): correct that, or " + ADVICE);
    }
    if (path == MANIFEST_NAME) {
        throw Error(KOKORO_MISSING_FILE_ERROR, "There is no " + place(path) + ": " + directory_ + " is not a bundle.");
    }
    throw Error(KOKORO_MISSING_FILE_ERROR, "The bundle " + directory_ + " lacks " + path + ": " + ADVICE);
}

void BundleFiles::changed(const std::string &path) const {
    throw Error(KOKORO_CHANGED_FILE_ERROR,
                place(path) + " was removed, replaced or written to while the bundle was open: expected the file that "
                              "was checked. Load the bundle again, and replace bundles by renaming directories.");
}

}  // namespace kokoro
