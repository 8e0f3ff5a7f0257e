#include "stress.h"

#include "../base/strings.h"

namespace kokoro::text {

Text restressed(View phonemes, std::optional<double> stress) {
    if (!stress) return Text(phonemes);
    bool primary = contains(phonemes, PRIMARY), secondary = contains(phonemes, SECONDARY);
    if (*stress < -1) return without(without(phonemes, PRIMARY), SECONDARY);
    Text result(phonemes);
    auto replace = [&](char32_t mark, char32_t by) {
        for (char32_t &letter : result) letter = letter == mark ? by : letter;
    };
    if (*stress == -1 || (primary && (*stress == 0 || *stress == -0.5))) {
        result = without(phonemes, SECONDARY);
        replace(PRIMARY, SECONDARY);
    } else if (!primary && !secondary && *stress >= 0) {
        size_t vowel = phonemes.find_first_of(VOWELS);
        if (vowel != View::npos) result.insert(vowel, 1, *stress > 1 ? PRIMARY : SECONDARY);
    } else if (secondary && !primary && *stress >= 1) {
        replace(SECONDARY, PRIMARY);
    }
    return result;
}

size_t weight(View phonemes) {
    size_t total = phonemes.size();
    for (char32_t phoneme : phonemes) total += contains(U"AIOQWYʤʧ", phoneme);
    return total;
}

}  // namespace kokoro::text
