// Weights that are stored as the model has them, and that kernels take transformed for Winograd's method.
#pragma once

#include <cstdint>
#include <vector>

#include "manifest.h"

namespace kokoro {

// Returns the number that float16 has these bits of.
double from_half(uint16_t half);

// Returns the shape of a tensor's weights once they are transformed: products in place of taps.
std::vector<int64_t> transformed_shape(const Tensor &tensor, const Matrix &matrix);

// Transforms the weights of a tensor, float16 [blocks, taps, in, lanes], to `products` of `transformed_shape`. A number
// is the sum of a row of the matrix times the taps, from the first on, in float64; it is rounded to float32 and then to
// float16. So every reader has the same bits.
void transform(const Tensor &tensor, const Matrix &matrix, const uint16_t *taps, uint16_t *products);

}  // namespace kokoro
