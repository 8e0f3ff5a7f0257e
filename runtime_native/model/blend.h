// Styles of voices and of blends of them.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "utterance.h"

namespace kokoro {

// Returns the weight of each voice in a blend such as "af_heart*0.7+am_adam*0.3", in sum 1. Throws BLEND_ERROR.
std::vector<std::pair<std::string, double>> parse_blend(const std::string &blend);

// The data from which styles are computed.
struct Voices {
    std::vector<std::string> names;
    size_t columns;
    std::function<const std::vector<float> &(const std::string &name)> table;  // rows times columns
};

// Returns the weight of each voice of which `voice` is made, a name of one or a blend. Throws BLEND_ERROR.
std::vector<std::pair<std::string, double>> voice_weights(const Voices &voices, const std::string &voice);

// Returns the style of a voice or blend for an input of so many phonemes, from 1 to the number of rows.
// Throws UNKNOWN_VOICE_ERROR or BLEND_ERROR.
Style style_row(const Voices &voices, const std::string &voice, size_t phonemes);

}  // namespace kokoro
