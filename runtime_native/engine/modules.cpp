#include "modules.h"

#if !defined(KOKORO_ONE_MODULE)
#include <dlfcn.h>
#endif

#include "../base/errors.h"
#include "native.h"

namespace kokoro {

#if defined(KOKORO_ONE_MODULE)

#if defined(__wasm__)

void check_module(const Manifest &) {}

#else

namespace {

// The exporter writes the identity over the zeros of the linked file, so a compiler must not know them.
const volatile char IDENTITY[] = "kokoro-module 0000000000000000000000000000000000000000000000000000000000000000";

// Returns the identity of this module, which is what follows the space.
std::string identity() {
    std::string found;
    for (const volatile char *each = IDENTITY; *each; each++) found += *each;
    return found.substr(found.find(' ') + 1);
}

}  // namespace

void check_module(const Manifest &manifest) {
    if (!manifest.module) {
        throw Error(KOKORO_LIBRARY_LOAD_ERROR, "This library has compiled stages inside and loads no others, and this "
                                               "bundle has its own: export one for the target of this library.");
    }
    const std::string &expected = manifest.module->identity, found = identity();
    if (found != expected) {
        throw Error(KOKORO_LIBRARY_LOAD_ERROR, "This bundle is for the module " + expected + ", and the app has " +
                                                   found + ": put the folder " + manifest.module->folder +
                                                   " and the other files of one bundle into the app.");
    }
}

#endif

void make_symbols_visible() {}

Any load_module(BundleFiles &, const Library &library) {
    // `exporter/compiler/compile_stage.py` chooses it.
    std::string prefix = "kokoro_" + library.function + "_" + std::to_string(library.bucket) + "_";
    return global_function("ffi.SystemLib")({argument(prefix.c_str())});
}

#else

void check_module(const Manifest &manifest) {
    if (!manifest.module) return;
    throw Error(KOKORO_LIBRARY_LOAD_ERROR, "The compiled stages of this bundle are one module with the library that "
                                           "loads them, in its folder " + manifest.module->folder +
                                           ": load it with that one.");
}

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
