#include "arithmetic.h"

#include "schema.h"

namespace kokoro {

std::map<std::string, std::string> arithmetic_of(const Manifest &manifest) {
    std::map<std::string, std::string> by_level;
    for (const CpuLevel &level : manifest.target.levels) by_level[level.name] = FLOAT32;
    const Value *entry = manifest.extensions.find("arithmetic");
    if (!entry) return by_level;
    for (auto &[level, node] : Node(*entry, "extensions.arithmetic").named()) {
        expect(by_level.count(level), node.path, "a level of the target", level);
        by_level[level] = node.text();
    }
    return by_level;
}

}  // namespace kokoro
