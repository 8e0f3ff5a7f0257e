#include "modules.h"

#if !defined(__wasm__)
#include <dlfcn.h>
#endif

#include "../base/errors.h"
#include "native.h"

namespace kokoro {

#if defined(__wasm__)

void make_symbols_visible() {}

Any load_module(BundleFiles &, const Library &library) {
    // `exporter/compiler/compile_stage.py` chooses it.
    std::string prefix = "kokoro_" + library.function + "_" + std::to_string(library.bucket) + "_";
    return global_function("ffi.SystemLib")({argument(prefix.c_str())});
}

#else

void make_symbols_visible() {
    Dl_info here;
    if (dladdr(reinterpret_cast<void *>(&make_symbols_visible), &here)) {
        dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
    }
}

Any load_module(BundleFiles &files, const Library &library) {
    std::string content = files.read(library.file);
    // What a part of TVM's runtime registers could not be undone, and a second one in a process ends it.
    if (content.find("device_api.") != content.npos) {
        throw Error(KOKORO_LIBRARY_LOAD_ERROR, files.place(library.file) + " is not the kind of library that the "
                                               "manifest lists it as: export the bundle again.");
    }
    LibraryFile file(library.file, content);
    return global_function("ffi.Module.load_from_file.so")({argument(file.path().c_str()), argument("so")});
}

#endif

}  // namespace kokoro
