#include "msgpack.h"

#include <cmath>
#include <cstring>
#include <unordered_set>

#include "../base/errors.h"
#include "../base/utf8.h"

namespace kokoro {

namespace {

constexpr size_t MAXIMUM_BYTES = 8 << 20;
constexpr int MAXIMUM_DEPTH = 12;
constexpr uint64_t MAXIMUM_ITEMS = 65536;
constexpr int MAXIMUM_VALUES = 250000;  // each costs memory, however few bytes it takes
constexpr uint64_t MAXIMUM_STRING = 4096;
constexpr uint64_t MAXIMUM_KEY = 200;

// A position in the data, and one method for each kind of value.
class Reader {
public:
    explicit Reader(std::string_view data) : data_(data) {}

    Value value(int depth) {
        if (depth > MAXIMUM_DEPTH) fail("expected at most 12 levels of nesting, found more");
        count_value();
        unsigned tag = byte();
        if (tag <= 0x7F) return {uint64_t{tag}};
        if (tag >= 0xE0) return {int64_t{tag} - 0x100};
        if (tag <= 0x8F) return {map(tag & 0x0F, depth)};
        if (tag <= 0x9F) return {array(tag & 0x0F, depth)};
        if (tag <= 0xBF) return {string(tag & 0x1F, MAXIMUM_STRING)};
        return long_value(tag, depth);
    }

    void expect_end() {
        size_t left = data_.size() - position_;
        if (left) fail("expected the end of the data, found " + std::to_string(left) + " more bytes");
    }

private:
    [[noreturn]] void fail(const std::string &problem) const {
        throw Error(KOKORO_MSGPACK_ERROR, "The msgpack data is wrong at byte " + std::to_string(position_) + ": " +
                                              problem + ". Fetch or export the bundle again.");
    }

    std::string_view take(uint64_t count) {
        size_t left = data_.size() - position_;
        if (count > left) {
            fail("expected " + std::to_string(count) + " more bytes, found " + std::to_string(left));
        }
        position_ += count;
        return data_.substr(position_ - count, count);
    }

    unsigned byte() { return static_cast<unsigned char>(take(1)[0]); }

    uint64_t big_endian(int width) {
        uint64_t number = 0;
        for (char each : take(width)) number = number << 8 | static_cast<unsigned char>(each);
        return number;
    }

    void count_value() {
        if (++values_ > MAXIMUM_VALUES) fail("expected at most 250000 values, found more");
    }

    // Reads a value whose tag is a whole byte of its own.
    Value long_value(unsigned tag, int depth) {
        switch (tag) {
            case 0xC2: case 0xC3: return {tag == 0xC3};
            case 0xCB: return {float64()};
            case 0xCC: return {longer_than(big_endian(1), 0x7F)};
            case 0xCD: return {longer_than(big_endian(2), 0xFF)};
            case 0xCE: return {longer_than(big_endian(4), 0xFFFF)};
            case 0xCF: return {longer_than(big_endian(8), 0xFFFFFFFF)};
            case 0xD0: return {below(static_cast<int8_t>(big_endian(1)), -32)};
            case 0xD1: return {below(static_cast<int16_t>(big_endian(2)), -128)};
            case 0xD2: return {below(static_cast<int32_t>(big_endian(4)), -32768)};
            case 0xD3: return {below(static_cast<int64_t>(big_endian(8)), -2147483648LL)};
            case 0xD9: return {string(longer_than(big_endian(1), 31), MAXIMUM_STRING)};
            case 0xDA: return {string(longer_than(big_endian(2), 0xFF), MAXIMUM_STRING)};
            case 0xDC: return {array(longer_than(big_endian(2), 15), depth)};
            case 0xDD: return {array(longer_than(big_endian(4), 0xFFFF), depth)};
            case 0xDE: return {map(longer_than(big_endian(2), 15), depth)};
            case 0xDF: return {map(longer_than(big_endian(4), 0xFFFF), depth)};
        }
        fail("expected a map, array, string, integer, 64-bit float or boolean, found tag " + std::to_string(tag));
    }

    // Returns a number that a shorter form cannot carry.
    uint64_t longer_than(uint64_t found, uint64_t most) const {
        if (found <= most) fail("expected the shortest form of " + std::to_string(found) + ", found a longer one");
        return found;
    }

    int64_t below(int64_t found, int64_t least) const {
        if (found >= least) fail("expected the shortest form of " + std::to_string(found) + ", found a longer one");
        return found;
    }

    double float64() {
        uint64_t bits = big_endian(8);
        double number;
        std::memcpy(&number, &bits, sizeof number);
        if (!std::isfinite(number)) fail("expected a finite number, found another");
        return number;
    }

    std::string string(uint64_t length, uint64_t most) {
        if (length > most) {
            fail("expected a string of at most " + std::to_string(most) + " bytes here, found " +
                 std::to_string(length));
        }
        std::string_view bytes = take(length);
        if (find_invalid_utf8(bytes) != std::string_view::npos) fail("expected UTF-8, found other bytes");
        return std::string(bytes);
    }

    std::string key() {
        count_value();
        unsigned tag = byte();
        if (tag >= 0xA0 && tag <= 0xBF) return string(tag & 0x1F, MAXIMUM_STRING);
        if (tag == 0xD9) return string(longer_than(big_endian(1), 31), MAXIMUM_KEY);
        if (tag == 0xDA) return string(longer_than(big_endian(2), 0xFF), MAXIMUM_KEY);
        fail("expected a string as key, found tag " + std::to_string(tag));
    }

    // Checks a number of items against the limit and against the bytes that are left.
    void check_items(uint64_t count, uint64_t bytes_each) const {
        if (count > MAXIMUM_ITEMS) fail("expected at most 65536 items, found " + std::to_string(count));
        uint64_t room = (data_.size() - position_) / bytes_each;
        if (count > room) {
            fail("expected " + std::to_string(count) + " items, found room for " + std::to_string(room));
        }
    }

    Array array(uint64_t count, int depth) {
        check_items(count, 1);
        Array values;
        while (values.size() < count) values.push_back(value(depth + 1));
        return values;
    }

    Map map(uint64_t count, int depth) {
        check_items(count, 2);
        Map entries;
        std::unordered_set<std::string> keys;
        while (entries.size() < count) {
            std::string name = key();
            if (!keys.insert(name).second) fail("expected every key once, found " + name + " twice");
            Value found = value(depth + 1);
            entries.emplace_back(std::move(name), std::move(found));
        }
        return entries;
    }

    std::string_view data_;
    size_t position_ = 0;
    int values_ = 0;
};

}  // namespace

const Value *Value::find(std::string_view key) const {
    if (const Map *entries = map()) {
        for (const auto &[name, value] : *entries) {
            if (name == key) return &value;
        }
    }
    return nullptr;
}

Value unpack(std::string_view bytes) {
    if (bytes.size() > MAXIMUM_BYTES) {
        throw Error(KOKORO_MSGPACK_ERROR, "The msgpack data has " + std::to_string(bytes.size()) +
                                              " bytes and may have at most 8388608.");
    }
    Reader reader(bytes);
    Value value = reader.value(0);
    reader.expect_end();
    return value;
}

}  // namespace kokoro
