#include "blocks.h"

#include <algorithm>

#include "schema.h"

namespace kokoro {

Blocks Blocks::read(const Value &extensions, const std::map<std::string, FileEntry> &files) {
    Blocks blocks;
    const Value *extension = extensions.find("blocks");
    if (!extension) return blocks;
    auto [bytes, digests] = Node(*extension, "extensions.blocks").fields("bytes", "digests");
    blocks.bytes_ = bytes.integer(1, int64_t{1} << 34);
    for (const auto &[path, node] : digests.named()) {
        auto found = node.elements(1, 65536, [](const Node &each) { return each.digest(); });
        auto entry = files.find(path);
        expect(entry != files.end(), node.path, "a file of the list 'files'", path);
        int64_t size = entry->second.bytes;
        int64_t count = size / blocks.bytes_ + (size % blocks.bytes_ != 0);
        expect(static_cast<int64_t>(found.size()) == count, node.path, std::to_string(count) + " digests",
               std::to_string(found.size()));
        blocks.digests_[path] = std::move(found);
    }
    return blocks;
}

std::vector<Block> Blocks::of(const FileEntry &entry) const {
    auto found = digests_.find(entry.path);
    if (found == digests_.end()) return {{0, entry.bytes, entry.sha256, 1, 1}};
    std::vector<Block> blocks;
    for (const std::string &digest : found->second) {
        int64_t start = static_cast<int64_t>(blocks.size()) * bytes_;
        blocks.push_back({start, std::min(bytes_, entry.bytes - start), digest, blocks.size() + 1,
                          found->second.size()});
    }
    return blocks;
}

}  // namespace kokoro
