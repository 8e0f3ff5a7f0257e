#include "signatures.h"

namespace kokoro {

std::vector<int64_t> TensorSignature::concrete(int64_t length) const {
    std::vector<int64_t> sizes;
    for (const Dim &dim : shape) sizes.push_back(dim.size(length));
    return sizes;
}

namespace {

Dim fixed(int64_t size) { return {0, "", size}; }

TensorSignature activation(const std::string &name, std::vector<Dim> shape) {
    shape.insert(shape.begin(), fixed(1));
    return {name, "float32", shape};
}

}  // namespace

std::vector<StageSignature> signatures(int64_t hidden, int64_t style, bool separate_source) {
    const Dim tokens{1, "tokens", 0}, frames{1, "frames", 0};
    const TensorSignature token_ids{"token_ids", "int64", {fixed(1), tokens}};
    const TensorSignature prosody = activation("prosody_style", {fixed(style)});
    const TensorSignature features = activation("hidden", {fixed(hidden), tokens});
    const TensorSignature encoding = activation("encoding", {fixed(hidden + style), tokens});
    const TensorSignature durations = activation("durations", {tokens});
    const TensorSignature text = activation("text", {fixed(hidden), tokens});
    const TensorSignature aligned = activation("aligned_encoding", {fixed(hidden + style), frames});
    const TensorSignature f0 = activation("f0", {{2, "frames", 0}});
    const TensorSignature energy = activation("energy", {{2, "frames", 0}});
    const TensorSignature noise = activation("noise", {{SAMPLES_PER_FRAME, "frames", 0}});
    const TensorSignature spectrum = activation("spectrum", {fixed(22), {120, "frames", 1}});
    const TensorSignature asr = activation("asr", {fixed(hidden), frames});
    const TensorSignature decoder_style = activation("decoder_style", {fixed(style)});
    const TensorSignature audio = activation("audio", {{SAMPLES_PER_FRAME, "frames", 0}});
    std::vector<StageSignature> stages = {
        {"bert", "tokens", MINIMUM_LENGTH, {token_ids}, {features}},
        {"duration", "tokens", MINIMUM_LENGTH, {features, prosody}, {encoding, durations}},
        {"text_encoder", "tokens", MINIMUM_LENGTH, {token_ids}, {text}},
        {"f0n", "frames", MINIMUM_LENGTH, {aligned, prosody}, {f0, energy}},
    };
    if (separate_source) stages.push_back({"source", "frames", MINIMUM_LENGTH, {f0, noise}, {spectrum}});
    stages.push_back({"decoder", "frames", MINIMUM_LENGTH,
                      {asr, f0, energy, decoder_style, separate_source ? spectrum : noise}, {audio}});
    return stages;
}

}  // namespace kokoro
