// Names of units.
#pragma once

#include "../../base/unicode.h"

namespace kokoro::text {

// Returns a unit's singular, empty if there is no such unit.
Text unit_name(View written);
// Returns a unit's plural: "square feet", "degrees Celsius", "miles per hour".
Text several(View unit);

}  // namespace kokoro::text
