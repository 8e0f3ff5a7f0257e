// Sums in numpy's order, to which the bits of joins belong.
#pragma once

#include <cstddef>

namespace kokoro {

// Returns the sum of `term(0)` to `term(count - 1)`, added in pairs as numpy adds arrays.
template <typename Term>
double pairwise_sum(Term term, size_t count, size_t first = 0) {
    if (count > 128) {
        size_t half = count / 2 - count / 2 % 8;
        return pairwise_sum(term, half, first) + pairwise_sum(term, count - half, first + half);
    }
    size_t end = first + count, index = first;
    double sum = 0;
    if (count >= 8) {
        double sums[8];
        for (size_t lane = 0; lane < 8; lane++) sums[lane] = term(index + lane);
        for (index += 8; index + 8 <= end; index += 8)
            for (size_t lane = 0; lane < 8; lane++) sums[lane] += term(index + lane);
        sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    }
    for (; index < end; index++) sum += term(index);
    return sum;
}

}  // namespace kokoro
