// The stages of the model: their names, order, length axes, inputs and outputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kokoro {

constexpr int SAMPLE_RATE = 24000;
constexpr int64_t SAMPLES_PER_FRAME = 600;
constexpr int FRAMES_PER_SECOND = 40;
constexpr int64_t MINIMUM_LENGTH = 3;

// `scale` times the length, plus `offset`; a fixed size is the offset alone, with an empty axis.
struct Dim {
    int64_t scale;
    std::string axis;
    int64_t offset;

    bool operator==(const Dim &other) const {
        return scale == other.scale && axis == other.axis && offset == other.offset;
    }
    int64_t size(int64_t length) const { return scale * length + offset; }
};

struct TensorSignature {
    std::string name;
    std::string dtype;
    std::vector<Dim> shape;

    bool operator==(const TensorSignature &other) const {
        return name == other.name && dtype == other.dtype && shape == other.shape;
    }
    // Returns the shape when the stage's length axis has `length` elements.
    std::vector<int64_t> concrete(int64_t length) const;
};

struct StageSignature {
    std::string name;
    std::string axis;
    int64_t minimum;
    std::vector<TensorSignature> inputs;
    std::vector<TensorSignature> outputs;

    bool operator==(const StageSignature &other) const {
        return name == other.name && axis == other.axis && minimum == other.minimum && inputs == other.inputs &&
               outputs == other.outputs;
    }
};

// Returns the signature of every stage, in the order in which they run. With `separate_source` the harmonic source
// is a stage of its own.
std::vector<StageSignature> signatures(int64_t hidden, int64_t style, bool separate_source);

}  // namespace kokoro
