#include "synthesiser.h"

#include "chain.h"
#include "tokens.h"

namespace kokoro {

Prepared Synthesiser::prepare(const Utterance &utterance, const CancelCheck &check) {
    Aligned<int64_t> tokens = tokenise(utterance.phonemes, manifest_);
    return run_chain(stages_, tokens, utterance.style, utterance.speed, utterance.seed, check);
}

}  // namespace kokoro
