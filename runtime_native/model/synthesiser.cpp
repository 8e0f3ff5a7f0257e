#include "synthesiser.h"

#include <algorithm>
#include <cmath>

#include "../base/errors.h"
#include "chain.h"
#include "tokens.h"

namespace kokoro {

Spoken Synthesiser::synthesise(const Utterance &utterance, const CancelCheck &check) {
    Aligned<int64_t> tokens = tokenise(utterance.phonemes, manifest_);
    Spoken spoken = run_chain(stages_, tokens, utterance.style, utterance.speed, utterance.seed, check);
    if (!std::all_of(spoken.samples.begin(), spoken.samples.end(), [](float each) { return std::isfinite(each); })) {
        throw Error(KOKORO_MODEL_OUTPUT_ERROR,
                    "The stage 'decoder' computed samples that are not finite: expected numbers. The weights are "
                    "damaged or the libraries wrong; verify the bundle or export it again.");
    }
    return spoken;
}

}  // namespace kokoro
