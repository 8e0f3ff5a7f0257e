// How Chinese is written.
#pragma once

#include "segmented.h"

namespace kokoro::text::chinese {

const Writing &writing();

}  // namespace kokoro::text::chinese
