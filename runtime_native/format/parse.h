// Builds a `Manifest` from the bytes of a manifest file. Nothing of the file is taken over unchecked.
#pragma once

#include <string_view>

#include "manifest.h"

namespace kokoro {

// Throws MSGPACK_ERROR, FORMAT_VERSION_ERROR, REQUIREMENT_ERROR or MANIFEST_ERROR.
Manifest parse_manifest(std::string_view data);

}  // namespace kokoro
