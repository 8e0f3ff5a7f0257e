#include "polyphones.h"

#include <algorithm>

#include "../base/hashing.h"
#include "../base/inflate.h"
#include "../base/strings.h"
#include "../base/utf8.h"
#include "planes.h"

namespace kokoro::text {

namespace {

constexpr size_t POLYPHONES_HEADER = 24, WIDTH = 64, HIDDEN = 32, MARKERS = 3, CHARACTERS_TOGETHER = 64;
constexpr size_t MOST_POLYPHONES = 1 << 16, LARGEST_POLYPHONES = 1 << 24;
// Rows of the embeddings before those of the characters.
constexpr size_t UNKNOWN_CHARACTER = 0, TEXT_BEGIN = 1, TEXT_END = 2;
// Bits of the unit of gates and cells, and those by which the gates' inputs, products of states and cells are shifted.
constexpr int UNIT_SHIFT = 12, INPUT_SHIFT = 5, STATE_SHIFT = 6, CELL_SHIFT = 6;
constexpr int64_t CELLS = 512;
constexpr char NETWORK[] = "the network of the Chinese dictionary";

// The parts of a file, one after the other.
class Content {
public:
    explicit Content(std::string_view packed) {
        size_t used = 0;
        if (!inflate(packed, LARGEST_POLYPHONES, content_, &used) || used != packed.size()) {
            refuse_data(NETWORK, "its parts do not fit");
        }
    }

    // Returns numbers of `size` bytes each, the lowest byte first.
    std::vector<int64_t> take(size_t count, size_t size, bool is_signed) {
        if (count * size > content_.size() - start_) refuse_data(NETWORK, "its parts do not fit");
        std::vector<int64_t> numbers(count);
        for (int64_t &number : numbers) {
            uint64_t value = 0;
            for (size_t place = 0; place < size; place++) {
                value |= uint64_t{static_cast<unsigned char>(content_[start_++])} << 8 * place;
            }
            bool is_negative = is_signed && value >> (8 * size - 1);
            number = static_cast<int64_t>(value) - (is_negative ? int64_t{1} << 8 * size : 0);
        }
        return numbers;
    }

    std::string_view rest() const { return std::string_view(content_).substr(start_); }

private:
    std::string content_;
    size_t start_ = 0;
};

// Returns the sum of `count` products of a row of weights and values.
int64_t product(const int64_t *weights, const int64_t *values, size_t count) {
    int64_t sum = 0;
    for (size_t place = 0; place < count; place++) sum += weights[place] * values[place];
    return sum;
}

// Returns the value of a table whose middle is at 0.
int64_t looked_up(const std::vector<int64_t> &table, int64_t place) {
    int64_t half = static_cast<int64_t>(table.size() / 2);
    return table[static_cast<size_t>(std::clamp(place, -half, half - 1) + half)];
}

}  // namespace

Polyphones::Polyphones(const std::string &data) {
    if (data.size() < POLYPHONES_HEADER || data.compare(0, 4, "KPY1")) {
        refuse_data(NETWORK, "its header is not as expected");
    }
    size_t characters = uint32_at(data, 4), readings = uint32_at(data, 8), names = uint32_at(data, 12);
    size_t half = uint32_at(data, 16);
    shift_ = uint32_at(data, 20);
    if (std::max({characters, readings, names, half}) > MOST_POLYPHONES || !characters || !readings || !names ||
        !half || shift_ > 31) {
        refuse_data(NETWORK, "its header is not as expected");
    }
    Content content(std::string_view(data).substr(POLYPHONES_HEADER));
    std::vector<int64_t> gaps = content.take(characters, 2, false), counts = content.take(characters, 1, false);
    for (int64_t number : content.take(readings, 2, false)) own_.push_back(static_cast<uint32_t>(number));
    size_t first = 0;
    int64_t code = 0;
    for (size_t row = 0; row < characters; row++) {
        if (!gaps[row]) refuse_data(NETWORK, "its characters are not in order");
        size_t count = static_cast<size_t>(counts[row]);
        characters_[static_cast<char32_t>(code += gaps[row])] = {MARKERS + row, first, count};
        first += count;
    }
    if (code >= static_cast<int64_t>(MOST_POLYPHONES)) refuse_data(NETWORK, "its characters are not in order");
    embeddings_ = content.take((MARKERS + characters) * WIDTH, 1, true);
    for (Direction &each : directions_) each.input = content.take(4 * STATES * WIDTH, 1, true);
    for (Direction &each : directions_) each.recurrent = content.take(4 * STATES * STATES, 1, true);
    for (Direction &each : directions_) each.bias = content.take(4 * STATES, 4, true);
    for (Direction &each : directions_) {
        each.sigmoid = content.take(2 * half, 2, true);
        each.tanh = content.take(2 * half, 2, true);
        auto small = [](int64_t value) { return std::abs(value) <= 1 << UNIT_SHIFT; };
        if (!std::all_of(each.sigmoid.begin(), each.sigmoid.end(), small) ||
            !std::all_of(each.tanh.begin(), each.tanh.end(), small)) {
            refuse_data(NETWORK, "its parts do not fit");
        }
    }
    for (Direction &each : directions_) each.cells = content.take(2 * CELLS, 2, true);
    hidden_ = content.take(HIDDEN * 2 * STATES, 1, true);
    hidden_bias_ = content.take(HIDDEN, 4, true);
    scores_ = content.take(readings * HIDDEN, 1, true);
    scores_bias_ = content.take(readings, 4, true);
    if (find_invalid_utf8(content.rest()) != std::string_view::npos) refuse_data(NETWORK, "its phonemes are not UTF-8");
    Text phonemes = decode_utf8(content.rest());
    for (View name : split(View(phonemes), U'\n')) phonemes_.emplace_back(name);
    auto known = [&](uint32_t number) { return number < names; };
    if (first != readings || phonemes_.size() != names || !std::all_of(own_.begin(), own_.end(), known)) {
        refuse_data(NETWORK, "its parts do not fit");
    }
}

std::map<size_t, Text> Polyphones::phonemes(View text, const std::vector<size_t> &places) const {
    std::map<size_t, Text> found;
    std::vector<State> forward, backward;
    for (size_t place : places) {
        auto character = characters_.find(text[place]);
        if (character == characters_.end() || !character->second.readings) continue;
        for (size_t start = forward.size(); start < text.size(); start += CHARACTERS_TOGETHER) {
            add_states(text.substr(start, CHARACTERS_TOGETHER), forward, backward);
        }
        found[place] = phonemes_[likeliest(character->second, forward[place], backward[place])];
    }
    return found;
}

// Adds the states in both directions of each character of a piece.
void Polyphones::add_states(View piece, std::vector<State> &forward, std::vector<State> &backward) const {
    std::vector<size_t> rows = {TEXT_BEGIN};
    for (char32_t letter : piece) {
        auto character = characters_.find(letter);
        rows.push_back(character == characters_.end() ? UNKNOWN_CHARACTER : character->second.row);
    }
    rows.push_back(TEXT_END);
    State state{}, cell{};
    for (size_t place = 0; place + 1 < rows.size(); place++) {
        step(directions_[0], rows[place], state, cell);
        if (place) forward.push_back(state);
    }
    size_t start = backward.size();
    backward.resize(start + piece.size());
    state = cell = State{};
    for (size_t place = rows.size() - 1; place; place--) {
        step(directions_[1], rows[place], state, cell);
        if (place <= piece.size()) backward[start + place - 1] = state;
    }
}

void Polyphones::step(const Direction &direction, size_t row, State &state, State &cell) const {
    std::array<int64_t, 4 * STATES> places;
    for (size_t gate = 0; gate < places.size(); gate++) {
        int64_t before = product(&direction.recurrent[gate * STATES], state.data(), STATES) >> STATE_SHIFT;
        int64_t input = product(&direction.input[gate * WIDTH], &embeddings_[row * WIDTH], WIDTH);
        places[gate] = (input + direction.bias[gate] + before) >> INPUT_SHIFT;
    }
    for (size_t unit = 0; unit < STATES; unit++) {
        int64_t input = looked_up(direction.sigmoid, places[unit]);
        int64_t kept = looked_up(direction.sigmoid, places[STATES + unit]);
        int64_t added = looked_up(direction.tanh, places[2 * STATES + unit]);
        int64_t output = looked_up(direction.sigmoid, places[3 * STATES + unit]);
        cell[unit] = (kept * cell[unit] + input * added) >> UNIT_SHIFT;
        state[unit] = (output * looked_up(direction.cells, cell[unit] >> CELL_SHIFT)) >> UNIT_SHIFT;
    }
}

// Returns the number of the phonemes of the likeliest reading.
size_t Polyphones::likeliest(const Character &character, const State &forward, const State &backward) const {
    std::array<int64_t, HIDDEN> hidden;
    for (size_t unit = 0; unit < HIDDEN; unit++) {
        const int64_t *weights = &hidden_[unit * 2 * STATES];
        int64_t sum = product(weights, forward.data(), STATES) + product(weights + STATES, backward.data(), STATES);
        hidden[unit] = std::max(sum + hidden_bias_[unit], int64_t{0}) >> shift_;
    }
    size_t best = character.first;
    int64_t most = 0;
    for (size_t reading = character.first; reading < character.first + character.readings; reading++) {
        int64_t score = product(&scores_[reading * HIDDEN], hidden.data(), HIDDEN) + scores_bias_[reading];
        if (reading == character.first || score > most) best = reading, most = score;
    }
    return own_[best];
}

}  // namespace kokoro::text
