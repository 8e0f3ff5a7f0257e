// Runs an utterance through the stages: tokens, durations, alignment, noise, samples.
#pragma once

#include <map>
#include <string>

#include "synthesiser.h"

namespace kokoro {

// Runs all stages before the decoder on the tokens of an utterance, boundaries included. Throws
// UTTERANCE_TOO_LONG_ERROR if the durations exceed the largest bucket, MODEL_OUTPUT_ERROR if they are not finite, and
// what `check` throws. The stages must live as long as the result, which decodes with them.
Prepared run_chain(std::map<std::string, StageRunner> &stages, const Aligned<int64_t> &tokens,
                   const Utterance &utterance, const CancelCheck &check);

}  // namespace kokoro
