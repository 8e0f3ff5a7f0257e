// Compiled libraries as modules of TVM.
#pragma once

#include "../format/bundle_files.h"
#include "tvm.h"

namespace kokoro {

// Lets compiled libraries find a function of tvm-ffi by its name. It is not visible to them if the app has loaded this
// library for itself alone, as JNI, .NET and Python's ctypes do.
void make_symbols_visible();

// Refuses a bundle whose stages are in another module than this library. That of a page has been compared by whoever
// started it. Throws LIBRARY_LOAD_ERROR.
void check_module(const Manifest &manifest);

// Returns a compiled library; with KOKORO_ONE_MODULE it is a part of this one. Throws LIBRARY_LOAD_ERROR, RESOURCE_ERROR, bundle errors and TvmError.
Any load_module(BundleFiles &files, const Library &library);

}  // namespace kokoro
