// Checks that the parts of a manifest agree with each other and with the model's fixed structure.
#pragma once

#include "manifest.h"

namespace kokoro {

// Throws MANIFEST_ERROR.
void check_consistency(const Manifest &manifest);

}  // namespace kokoro
