#include "synthesiser.h"

#include "chain.h"
#include "tokens.h"

namespace kokoro {

Prepared Synthesiser::prepare(const Utterance &utterance, const CancelCheck &check) {
    const auto &[phonemes, style, speed, seed, fitted] = utterance;
    Aligned<int64_t> tokens = tokenise(phonemes, manifest_);
    return run_chain(stages_, tokens, style, speed, fitted, seed, check);
}

}  // namespace kokoro
