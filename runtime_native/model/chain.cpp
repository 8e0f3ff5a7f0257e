#include "chain.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "../base/errors.h"
#include "alignment.h"
#include "noise.h"

namespace kokoro {

namespace {

// Returns the number of frames, which all stages along the frames must hold.
int64_t check_frames(const std::map<std::string, StageRunner> &stages, const std::vector<int64_t> &durations) {
    int64_t frames = std::accumulate(durations.begin(), durations.end(), int64_t{0}), capacity = INT64_MAX;
    for (const auto &entry : stages) {
        if (entry.second.axis() == "frames") capacity = std::min(capacity, entry.second.capacity());
    }
    if (frames > capacity) {
        char text[320];
        std::snprintf(text, sizeof text,
                      "The utterance needs %lld frames (%.1f s) and the bundle holds %lld (%.1f s): raise the speed, "
                      "split the input, or export a bundle with a larger frame bucket.",
                      static_cast<long long>(frames), frames / double{FRAMES_PER_SECOND},
                      static_cast<long long>(capacity), capacity / double{FRAMES_PER_SECOND});
        throw Error(KOKORO_UTTERANCE_TOO_LONG_ERROR, text);
    }
    return frames;
}

}  // namespace

Spoken run_chain(std::map<std::string, StageRunner> &stages, const Aligned<int64_t> &tokens, const Style &style,
                 double speed, uint64_t seed, const CancelCheck &check) {
    auto run = [&](const char *name, int64_t length, const std::vector<Input> &inputs) {
        check();
        return stages.at(name).run(length, inputs);
    };
    // Compiled code takes aligned memory.
    const Floats prosody(style.prosody.begin(), style.prosody.end());
    const Floats decoder(style.decoder.begin(), style.decoder.end());
    const int64_t count = static_cast<int64_t>(tokens.size());
    Floats hidden = run("bert", count, {tokens})[0];
    std::vector<Floats> predicted = run("duration", count, {hidden, prosody});
    std::vector<int64_t> durations = round_durations(predicted[1], speed);
    const int64_t frames = check_frames(stages, durations);
    Floats text = run("text_encoder", count, {tokens})[0];
    Floats encoding = align(predicted[0], durations, frames);
    std::vector<Floats> curves = run("f0n", frames, {encoding, prosody});
    Floats asr = align(text, durations, frames);
    // The noise, or the spectrum that a stage of its own makes of it.
    Floats source = gaussian_noise(seed, SAMPLES_PER_FRAME * frames);
    if (stages.count("source")) source = run("source", frames, {curves[0], source})[0];
    Floats audio = run("decoder", frames, {asr, curves[0], curves[1], decoder, source})[0];
    return {{audio.begin(), audio.end()}, durations};
}

}  // namespace kokoro
