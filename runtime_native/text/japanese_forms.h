// Numbers, counters, dates, money, units and signs in Japanese text, in the kana of their reading.
#pragma once

#include "segmented_forms.h"

namespace kokoro::text::japanese {

// Returns what is said for written forms, in kana; spaces are between words.
const SegmentedForms &forms();

}  // namespace kokoro::text::japanese
