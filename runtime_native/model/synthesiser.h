// One utterance, from phonemes to samples, with the stages of a loaded bundle.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "../engine/stage_runner.h"
#include "utterance.h"

namespace kokoro {

// Throws CANCELLED if the caller does not want the result any more; called between stages.
using CancelCheck = std::function<void()>;

class Synthesiser {
public:
    Synthesiser(std::map<std::string, StageRunner> &stages, const Manifest &manifest)
        : stages_(stages), manifest_(manifest) {}

    // Runs all stages before the decoder. Throws UTTERANCE_TOO_LONG_ERROR, MODEL_OUTPUT_ERROR, EXECUTION_ERROR, or
    // what `check` throws, and so does decoding.
    Prepared prepare(const Utterance &utterance, const CancelCheck &check);

private:
    std::map<std::string, StageRunner> &stages_;
    const Manifest &manifest_;
};

}  // namespace kokoro
