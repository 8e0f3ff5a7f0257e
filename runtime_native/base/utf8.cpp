#include "utf8.h"

#include "errors.h"

namespace kokoro {

namespace {

constexpr char32_t INVALID = 0xFFFFFFFF;

// Reads one code point at `position` and moves past it; leaves `position` where it is if there is none.
char32_t next(std::string_view bytes, size_t &position) {
    auto byte = [&](size_t index) -> unsigned {
        return index < bytes.size() ? static_cast<unsigned char>(bytes[index]) : 0;
    };
    unsigned first = byte(position);
    if (first < 0x80) {
        position += 1;
        return first;
    }
    size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4) return INVALID;
    char32_t point = first & (0x7F >> length);
    for (size_t index = 1; index < length; index++) {
        unsigned more = byte(position + index);
        if ((more & 0xC0) != 0x80) return INVALID;
        point = point << 6 | (more & 0x3F);
    }
    constexpr char32_t SMALLEST[] = {0, 0, 0x80, 0x800, 0x10000};
    if (point < SMALLEST[length] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) return INVALID;
    position += length;
    return point;
}

}  // namespace

std::u32string decode_utf8(std::string_view bytes, const char *name) {
    std::u32string text;
    text.reserve(bytes.size());
    for (size_t position = 0; position < bytes.size();) {
        char32_t point = next(bytes, position);
        if (point == INVALID) {
            throw Error(KOKORO_TEXT_ENCODING_ERROR, "The " + std::string(name) + " is not UTF-8: see its byte " +
                        std::to_string(position) + ", counted from 0. Convert it to UTF-8.");
        }
        text.push_back(point);
    }
    return text;
}

size_t find_invalid_utf8(std::string_view bytes) {
    for (size_t position = 0; position < bytes.size();) {
        if (next(bytes, position) == INVALID) return position;
    }
    return std::string_view::npos;
}

size_t whole_utf8(std::string_view bytes) {
    for (size_t length = 1; length <= 3 && length <= bytes.size(); length++) {
        const auto first = static_cast<unsigned char>(bytes[bytes.size() - length]);
        if (first >= 0x80 && first < 0xC0) continue;
        if (first < 0xC2 || first > 0xF4) break;
        const size_t whole = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
        return bytes.size() - (whole > length ? length : 0);
    }
    return bytes.size();
}

std::string repaired_utf8(std::string_view bytes) {
    std::string repaired;
    for (size_t position = 0; position < bytes.size();) {
        size_t start = position;
        if (next(bytes, position) == INVALID) {
            repaired += "\uFFFD";
            position++;
        } else {
            repaired += bytes.substr(start, position - start);
        }
    }
    return repaired;
}

std::string encode_utf8(std::u32string_view text) {
    std::string bytes;
    bytes.reserve(text.size());
    for (char32_t point : text) {
        if (point < 0x80) {
            bytes += static_cast<char>(point);
            continue;
        }
        int rest = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
        bytes += static_cast<char>((0xFF00 >> (rest + 1) & 0xFF) | point >> 6 * rest);
        while (rest--) bytes += static_cast<char>(0x80 | (point >> 6 * rest & 0x3F));
    }
    return bytes;
}

}  // namespace kokoro
