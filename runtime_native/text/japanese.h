// How Japanese is written.
#pragma once

#include "segmented.h"

namespace kokoro::text::japanese {

const Writing &writing();

}  // namespace kokoro::text::japanese
