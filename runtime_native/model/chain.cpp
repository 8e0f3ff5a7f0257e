#include "chain.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numeric>

#include "../base/errors.h"
#include "alignment.h"
#include "noise.h"
#include "statistics.h"

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

// The decoder's inputs, or what the stage before it makes them of.
struct Curves {
    Floats asr, f0, energy, decoder, noise;
};

// Returns some frames of `values`, [channels, frames times a scale].
Floats between(const Floats &values, size_t channels, int64_t frames, int64_t start, int64_t end) {
    int64_t row = static_cast<int64_t>(values.size() / channels), scale = row / frames;
    Floats part;
    part.reserve(channels * scale * (end - start));
    for (auto first = values.begin(); first != values.end(); first += row)
        part.insert(part.end(), first + scale * start, first + scale * end);
    return part;
}

std::vector<float> decode(std::map<std::string, StageRunner> &stages, const Curves &curves,
                          const Statistics *statistics, int64_t start, int64_t end, const CancelCheck &check) {
    const int64_t count = end - start, frames = static_cast<int64_t>(curves.noise.size()) / SAMPLES_PER_FRAME;
    const Replacements none, &replaced = statistics ? *statistics : none;
    auto run = [&](const char *name, const std::vector<Input> &inputs) {
        check();
        return stages.at(name).run(count, inputs, replaced)[0];
    };
    auto part = [&](const Floats &values, size_t channels = 1) { return between(values, channels, frames, start, end); };
    const Floats asr = part(curves.asr, curves.asr.size() / frames), f0 = part(curves.f0), energy = part(curves.energy);
    // The noise, or the spectrum that a stage of its own makes of it.
    Floats source = part(curves.noise);
    if (stages.count("source")) source = run("source", {f0, source});
    Floats audio = run("decoder", {asr, f0, energy, curves.decoder, source});
    if (!std::all_of(audio.begin(), audio.end(), [](float each) { return std::isfinite(each); })) {
        throw Error(KOKORO_MODEL_OUTPUT_ERROR,
                    "The stage 'decoder' computed samples that are not finite: expected numbers. The weights are "
                    "damaged or the libraries wrong; verify the bundle or export it again.");
    }
    return {audio.begin(), audio.end()};
}

}  // namespace

Prepared run_chain(std::map<std::string, StageRunner> &stages, const Aligned<int64_t> &tokens,
                   const Utterance &utterance, const CancelCheck &check) {
    auto run = [&](const char *name, int64_t length, const std::vector<Input> &inputs) {
        check();
        return stages.at(name).run(length, inputs);
    };
    // Compiled code takes aligned memory.
    const Floats prosody(utterance.style.prosody.begin(), utterance.style.prosody.end());
    const Floats decoder(utterance.style.decoder.begin(), utterance.style.decoder.end());
    const int64_t count = static_cast<int64_t>(tokens.size());
    Floats hidden = run("bert", count, {tokens})[0];
    std::vector<Floats> predicted = run("duration", count, {hidden, prosody});
    const double speed = utterance.fitted ? fitted_speed(predicted[1], utterance.speed) : utterance.speed;
    std::vector<int64_t> durations = round_durations(predicted[1], speed);
    const int64_t frames = check_frames(stages, durations);
    Floats text = run("text_encoder", count, {tokens})[0];
    Floats encoding = align(predicted[0], durations, frames);
    std::vector<Floats> curves = run("f0n", frames, {encoding, prosody});
    std::vector<float> energy(curves[1].begin(), curves[1].end());
    auto kept = std::make_shared<const Curves>(Curves{align(text, durations, frames), std::move(curves[0]),
                                                      std::move(curves[1]), decoder,
                                                      gaussian_noise(utterance.seed, SAMPLES_PER_FRAME * frames)});
    auto some = [&stages, kept, check, known = utterance.statistics](int64_t start, int64_t end, bool of_voice) {
        return decode(stages, *kept, of_voice ? known.get() : nullptr, start, end, check);
    };
    return {std::move(durations), std::move(energy), some, utterance.statistics};
}

}  // namespace kokoro
