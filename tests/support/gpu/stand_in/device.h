#pragma once

#include <dlpack/dlpack.h>

#include <string_view>

#include "memory.h"

namespace stand_in {

// STAND_IN_DEVICE is set when the library is built.
constexpr bool kIsCuda = std::string_view(STAND_IN_DEVICE) == "cuda";
constexpr DLDeviceType kDeviceType = kIsCuda ? kDLCUDA : kDLMetal;

Memory& DeviceMemory();

}  // namespace stand_in
