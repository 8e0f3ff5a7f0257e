#include "blend.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "../base/characters.h"
#include "../base/errors.h"
#include "../base/utf8.h"

namespace kokoro {

namespace {

[[noreturn]] void refuse(const std::string &blend, const std::string &reason) {
    throw Error(KOKORO_BLEND_ERROR, "The blend of voices '" + blend + "' cannot be read: " + reason +
                                        ". Write it as \"af_heart*0.7+am_adam*0.3\", or \"af_heart,am_adam\" for "
                                        "the average.");
}

// Returns a decimal number, in which single underscores may stand between digits, or NaN.
double number_of(std::string text) {
    auto is_digit = [&](size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
    for (size_t at = 1; at < text.size(); at++)
        if (text[at] == '_' && is_digit(at - 1) && is_digit(at + 1)) text.erase(at, 1);
    double number = NAN;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() ? number : NAN;
}

bool has(const Voices &voices, const std::string &name) {
    return std::find(voices.names.begin(), voices.names.end(), name) != voices.names.end();
}

[[noreturn]] void refuse_unknown(const Voices &voices, const std::string &name) {
    std::string known;
    for (const std::string &each : voices.names) known += (known.empty() ? "" : ", ") + each;
    throw Error(KOKORO_UNKNOWN_VOICE_ERROR,
                "The bundle has no voice '" + name + "'. It has " + (known.empty() ? "none" : known) + ".");
}

}  // namespace

std::vector<std::pair<std::string, double>> parse_blend(const std::string &blend) {
    std::vector<std::pair<std::string, double>> weights;
    std::u32string terms = decode_utf8(blend);
    for (size_t start = 0, end; start <= terms.size(); start = end + 1) {
        end = std::min(terms.find_first_of(U"+,", start), terms.size());
        std::u32string_view term = std::u32string_view(terms).substr(start, end - start);
        size_t star = std::min(term.find(U'*'), term.size());
        std::string name = encode_utf8(strip(term.substr(0, star)));
        std::string number = star < term.size() ? encode_utf8(strip(term.substr(star + 1))) : "1";
        double weight = number_of(number);
        if (name.empty()) refuse(blend, "a name is missing");
        if (!(std::isfinite(weight) && weight >= 0))
            refuse(blend, "the weight '" + number + "' of '" + name + "' is not a number of at least 0");
        auto known = std::find_if(weights.begin(), weights.end(), [&](auto &each) { return each.first == name; });
        if (known == weights.end()) weights.emplace_back(name, weight);
        else known->second += weight;
    }
    double total = 0;
    for (auto &[name, weight] : weights) total += weight;
    if (!(total > 0 && std::isfinite(total))) refuse(blend, "the weights sum to 0 or to no finite number");
    for (auto &[name, weight] : weights) weight /= total;
    return weights;
}

std::vector<std::pair<std::string, double>> voice_weights(const Voices &voices, const std::string &voice) {
    bool blended = !has(voices, voice) && voice.find_first_of("+,*") != std::string::npos;
    if (blended) return parse_blend(voice);
    return {{voice, 1.0}};
}

Style style_row(const Voices &voices, const std::string &voice, size_t phonemes) {
    auto weights = voice_weights(voices, voice);
    for (auto &[name, weight] : weights)
        if (!has(voices, name)) refuse_unknown(voices, name);
    std::vector<double> sums(voices.columns);
    for (auto &[name, weight] : weights) {
        const float *row = voices.table(name).data() + (phonemes - 1) * voices.columns;
        for (size_t column = 0; column < voices.columns; column++) sums[column] += weight * double(row[column]);
    }
    auto middle = sums.begin() + voices.columns / 2;
    return {{sums.begin(), middle}, {middle, sums.end()}};
}

}  // namespace kokoro
