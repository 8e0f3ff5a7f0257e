#include "inflate.h"

#include <cstdint>
#include <vector>

namespace kokoro {

namespace {

constexpr int LONGEST_CODE = 15;

struct Damaged {};

// Bits of a stream, the lowest of a byte first.
class Bits {
public:
    explicit Bits(std::string_view bytes) : bytes_(bytes) {}

    unsigned take(int count) {
        while (count_ < count) {
            if (position_ == bytes_.size()) throw Damaged();
            held_ |= static_cast<uint32_t>(static_cast<unsigned char>(bytes_[position_++])) << count_;
            count_ += 8;
        }
        unsigned taken = held_ & ((1u << count) - 1);
        held_ >>= count;
        count_ -= count;
        return taken;
    }

    // Leaves out the rest of a byte that was begun, and returns the next bytes.
    std::string_view take_bytes(size_t count) {
        held_ = count_ = 0;
        if (count > bytes_.size() - position_) throw Damaged();
        position_ += count;
        return bytes_.substr(position_ - count, count);
    }

    size_t position() const { return position_; }

private:
    std::string_view bytes_;
    size_t position_ = 0;
    uint32_t held_ = 0;
    int count_ = 0;
};

// A Huffman code, from the lengths of its symbols' codes.
class Code {
public:
    explicit Code(const std::vector<uint8_t> &lengths) {
        for (uint8_t length : lengths) counts_[length]++;
        counts_[0] = 0;
        int left = 1;
        for (int length = 1; length <= LONGEST_CODE; length++) {
            left = 2 * left - counts_[length];
            if (left < 0) throw Damaged();
        }
        int starts[LONGEST_CODE + 2] = {};
        for (int length = 1; length <= LONGEST_CODE; length++)
            starts[length + 1] = starts[length] + counts_[length];
        symbols_.resize(lengths.size());
        for (size_t symbol = 0; symbol < lengths.size(); symbol++) {
            if (lengths[symbol]) symbols_[starts[lengths[symbol]]++] = static_cast<uint16_t>(symbol);
        }
    }

    unsigned read(Bits &bits) const {
        int code = 0, first = 0, index = 0;
        for (int length = 1; length <= LONGEST_CODE; length++) {
            code |= static_cast<int>(bits.take(1));
            int count = counts_[length];
            if (code - first < count) return symbols_[index + code - first];
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        throw Damaged();
    }

private:
    int counts_[LONGEST_CODE + 1] = {};
    std::vector<uint16_t> symbols_;
};

constexpr uint16_t LENGTHS[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
constexpr uint8_t LENGTH_BITS[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                   2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
constexpr uint16_t DISTANCES[] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                  33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                  1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
constexpr uint8_t DISTANCE_BITS[] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                     6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};

void copy_block(Bits &bits, const Code &literals, const Code &distances, size_t most, std::string &content) {
    while (true) {
        unsigned symbol = literals.read(bits);
        if (symbol < 256) {
            if (content.size() == most) throw Damaged();
            content += static_cast<char>(symbol);
            continue;
        }
        if (symbol == 256) return;
        if (symbol > 285) throw Damaged();
        size_t length = LENGTHS[symbol - 257] + bits.take(LENGTH_BITS[symbol - 257]);
        unsigned number = distances.read(bits);
        if (number >= 30) throw Damaged();
        size_t distance = DISTANCES[number] + bits.take(DISTANCE_BITS[number]);
        if (distance > content.size() || length > most - content.size()) throw Damaged();
        for (size_t from = content.size() - distance; length; length--) content += content[from++];
    }
}

// Reads the codes of a block that brings its own.
void dynamic_block(Bits &bits, size_t most, std::string &content) {
    unsigned literal_count = bits.take(5) + 257, distance_count = bits.take(5) + 1,
             length_count = bits.take(4) + 4;
    constexpr uint8_t ORDER[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    std::vector<uint8_t> lengths(19);
    for (unsigned index = 0; index < length_count; index++)
        lengths[ORDER[index]] = static_cast<uint8_t>(bits.take(3));
    Code code(lengths);
    lengths.clear();
    while (lengths.size() < literal_count + distance_count) {
        unsigned symbol = code.read(bits);
        if (symbol < 16) {
            lengths.push_back(static_cast<uint8_t>(symbol));
            continue;
        }
        if (symbol == 16 && lengths.empty()) throw Damaged();
        uint8_t repeated = symbol == 16 ? lengths.back() : 0;
        unsigned count = symbol == 16   ? 3 + bits.take(2)
                         : symbol == 17 ? 3 + bits.take(3)
                                        : 11 + bits.take(7);
        lengths.insert(lengths.end(), count, repeated);
    }
    if (lengths.size() > literal_count + distance_count || literal_count > 286 || !lengths[256])
        throw Damaged();
    auto end = lengths.begin() + literal_count;
    copy_block(bits, Code({lengths.begin(), end}), Code({end, lengths.end()}), most, content);
}

void fixed_block(Bits &bits, size_t most, std::string &content) {
    std::vector<uint8_t> lengths(144, 8);
    lengths.insert(lengths.end(), 112, 9);
    lengths.insert(lengths.end(), 24, 7);
    lengths.insert(lengths.end(), 8, 8);
    copy_block(bits, Code(lengths), Code(std::vector<uint8_t>(30, 5)), most, content);
}

void stored_block(Bits &bits, size_t most, std::string &content) {
    std::string_view sizes = bits.take_bytes(4);
    auto byte = [&](int index) { return static_cast<unsigned>(static_cast<unsigned char>(sizes[index])); };
    unsigned size = byte(0) | byte(1) << 8;
    if ((size ^ 0xFFFF) != (byte(2) | byte(3) << 8) || size > most - content.size()) throw Damaged();
    content += bits.take_bytes(size);
}

}  // namespace

bool inflate(std::string_view stream, size_t most, std::string &content, size_t *used) {
    Bits bits(stream);
    content.clear();
    try {
        for (bool last = false; !last;) {
            last = bits.take(1);
            unsigned kind = bits.take(2);
            if (kind == 3) return false;
            (kind == 0 ? stored_block : kind == 1 ? fixed_block : dynamic_block)(bits, most, content);
        }
    } catch (const Damaged &) {
        return false;
    }
    if (used) *used = bits.position();
    return true;
}

bool inflate_zlib(std::string_view stream, size_t most, std::string &content) {
    auto byte = [&](size_t index) {
        return static_cast<unsigned>(static_cast<unsigned char>(stream[index]));
    };
    size_t used = 0;
    if (stream.size() < 6 || (byte(0) & 15) != 8 || (byte(0) << 8 | byte(1)) % 31 || byte(1) & 32)
        return false;
    if (!inflate(stream.substr(2), most, content, &used) || stream.size() - 2 - used < 4) return false;
    uint32_t low = 1, high = 0;
    for (char each : content) {
        low = (low + static_cast<unsigned char>(each)) % 65521;
        high = (high + low) % 65521;
    }
    uint32_t expected = 0;
    for (size_t index = used + 2; index < used + 6; index++) expected = expected << 8 | byte(index);
    return (high << 16 | low) == expected;
}

}  // namespace kokoro
