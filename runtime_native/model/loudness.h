// Loudness: a fixed gain for each voice, from what was measured when the voice came into the bundle.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "../format/msgpack.h"
#include "blend.h"

namespace kokoro {

// Loudness of voices by name, in hundredths of LUFS.
using Loudness = std::map<std::string, int64_t>;

// Returns the loudness of the voices that were measured. Throws MANIFEST_ERROR if the extension breaks its schema.
Loudness read_loudness(const Value &extensions);

// Returns the factor that brings a voice or blend to a loudness in LUFS. Throws NO_LOUDNESS_ERROR.
float voice_gain(const Loudness &measured, const Voices &voices, const std::string &voice, double loudness);

// Multiplies the samples by the gain, and bends peaks so that none exceeds 0.9.
void amplify(std::vector<float> &samples, float gain);

}  // namespace kokoro
