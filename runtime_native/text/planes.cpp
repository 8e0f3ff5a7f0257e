#include "planes.h"

#include "../base/errors.h"
#include "../base/inflate.h"

namespace kokoro::text {

namespace {

constexpr size_t LONGEST_REST = 1 << 16;

}  // namespace

void refuse_data(const char *name, const std::string &reason) {
    throw Error(KOKORO_TEXT_DATA_ERROR, "The bundle's data for text are damaged: " + std::string(name) + " (" + reason +
                                            "). Copy the bundle again, or export it again.");
}

Planes::Planes(const char *name, std::string_view packed, size_t fixed) {
    size_t used = 0;
    if (!inflate(packed, fixed + LONGEST_REST, content_, &used) || used != packed.size() || content_.size() < fixed) {
        refuse_data(name, "its parts do not fit");
    }
}

std::vector<uint32_t> Planes::numbers(size_t count, size_t size) {
    std::vector<uint32_t> numbers(count);
    for (size_t place = 0; place < size; place++) {
        for (uint32_t &number : numbers) {
            number |= uint32_t{static_cast<unsigned char>(content_[start_++])} << 8 * place;
        }
    }
    return numbers;
}

std::vector<uint64_t> Planes::keys(size_t count) {
    std::vector<uint64_t> keys;
    keys.reserve(count);
    uint64_t key = 0;
    for (uint32_t gap : numbers(count, 4)) keys.push_back(key += gap);
    return keys;
}

std::string_view Planes::bytes(size_t count) {
    start_ += count;
    return std::string_view(content_).substr(start_ - count, count);
}

}  // namespace kokoro::text
