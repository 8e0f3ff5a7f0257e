// Numbers, dates, money, units and signs in Chinese text, as they are read.
#pragma once

#include "segmented_forms.h"

namespace kokoro::text::chinese {

// Returns what is said for written forms, in Chinese characters.
const SegmentedForms &forms();

}  // namespace kokoro::text::chinese
