// Runs an utterance through the stages: tokens, durations, alignment, noise, samples.
#pragma once

#include <map>
#include <string>

#include "synthesiser.h"

namespace kokoro {

// Speaks tokens, boundaries included, through all stages. Throws UTTERANCE_TOO_LONG_ERROR if the durations exceed the
// largest bucket (nothing was decoded then), MODEL_OUTPUT_ERROR if they are not finite, and what `check` throws.
Spoken run_chain(std::map<std::string, StageRunner> &stages, const Aligned<int64_t> &tokens, const Style &style,
                 double speed, uint64_t seed, const CancelCheck &check);

}  // namespace kokoro
