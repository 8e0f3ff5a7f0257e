// The manifest's entry about CPU levels whose decoder computes with another arithmetic than float32.
#pragma once

#include <map>
#include <string>

#include "manifest.h"

namespace kokoro {

constexpr const char *FLOAT32 = "float32";

// Returns the arithmetic by the name of every CPU level; `float32` where the manifest names no other. Throws
// MANIFEST_ERROR if the entry breaks its schema, or names a level that the target does not have.
std::map<std::string, std::string> arithmetic_of(const Manifest &manifest);

}  // namespace kokoro
