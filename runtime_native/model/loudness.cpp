#include "loudness.h"

#include <cmath>

#include "../base/errors.h"
#include "../format/schema.h"

namespace kokoro {

namespace {

constexpr float KNEE = 0.5f;  // samples up to this are amplified and nothing else,
constexpr float ROOM = 0.4f;  // and greater ones come up to so much above it

}  // namespace

Loudness read_loudness(const Value &extensions) {
    Loudness measured;
    const Value *found = extensions.find("loudness");
    if (!found) return measured;
    for (auto &[name, node] : Node(*found, "extensions.loudness").named()) measured[name] = node.integer(-7'000, 0);
    return measured;
}

float voice_gain(const Loudness &measured, const Voices &voices, const std::string &voice, double loudness) {
    double mean = 0;
    for (auto &[name, weight] : voice_weights(voices, voice)) {
        auto found = measured.find(name);
        if (found == measured.end())
            throw Error(KOKORO_NO_LOUDNESS_ERROR,
                        "The bundle does not have the loudness of the voice '" + name + "': leave the option out, name "
                            "another voice, or export the bundle again on a machine that runs it.");
        mean += weight * double(found->second);
    }
    return static_cast<float>(std::pow(10.0, (100 * loudness - mean) / 2'000));
}

void amplify(std::vector<float> &samples, float gain) {
    for (float &sample : samples) {
        sample *= gain;
        float above = std::abs(sample) - KNEE;
        if (above > 0) sample = std::copysign(KNEE + ROOM * above / (above + ROOM), sample);
    }
}

}  // namespace kokoro
