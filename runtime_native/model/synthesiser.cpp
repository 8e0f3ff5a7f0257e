#include "synthesiser.h"

#include "chain.h"
#include "tokens.h"

namespace kokoro {

Prepared Synthesiser::prepare(const Utterance &utterance, const CancelCheck &check) {
    return run_chain(stages_, tokenise(utterance.phonemes, manifest_), utterance, check);
}

}  // namespace kokoro
