#include "tokens.h"

#include "../base/errors.h"
#include "../base/utf8.h"

namespace kokoro {

Aligned<int64_t> tokenise(const std::u32string &phonemes, const Manifest &manifest) {
    Aligned<int64_t> tokens = {0};
    for (char32_t phoneme : phonemes) {
        auto found = manifest.vocabulary.find(encode_utf8({&phoneme, 1}));
        if (found == manifest.vocabulary.end()) {
            throw Error(KOKORO_UNKNOWN_PHONEMES_ERROR, "The bundle's vocabulary lacks the phoneme at " +
                                                           std::to_string(tokens.size() - 1) + ", counted from 0.");
        }
        tokens.push_back(found->second);
    }
    tokens.push_back(0);
    return tokens;
}

}  // namespace kokoro
