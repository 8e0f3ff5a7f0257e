// What the module exports to JavaScript besides kokoro.h: memory, single stages, and single pieces of a text that is
// pushed. `module.mjs` calls it, and relies on the offsets of fields that are checked here.
#if defined(__wasm__)

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "../handles.h"
#include "../include/kokoro.h"
#include "../interface.h"
#include "../live.h"

static_assert(sizeof(kokoro_options) >= 20 && offsetof(kokoro_options, skip_verify) == 8);
static_assert(sizeof(kokoro_request) == 96 && offsetof(kokoro_request, speed) == 16);
static_assert(offsetof(kokoro_request, ssml) == 32 && offsetof(kokoro_request, language) == 48);
static_assert(offsetof(kokoro_request, sentence_pause) == 56 && offsetof(kokoro_request, no_stretch) == 88);
static_assert(sizeof(kokoro_timing) == 24 && offsetof(kokoro_timing, start) == 8);
static_assert(offsetof(kokoro_audio, start) == 16 && offsetof(kokoro_audio, phonemes) == 24);
static_assert(offsetof(kokoro_audio, durations) == 44 && offsetof(kokoro_audio, lead) == 56);

// The kind of WebAssembly's exceptions that carry one of C++. Every file refers to it, and no library of zig defines it.
__asm__(".globl __cpp_exception\n.tagtype __cpp_exception i32\n__cpp_exception:\n");

#define EXPORTED(name) __attribute__((export_name(#name))) name

extern "C" {

// Returns memory for a file or a string, or null.
void *EXPORTED(kokoro_web_allocate)(size_t bytes) { return std::aligned_alloc(64, (bytes + 63) / 64 * 64); }
void EXPORTED(kokoro_web_release)(void *memory) { std::free(memory); }

// Runs one stage, whose tokens the caller has checked. `inputs` are pointers and sizes in bytes, one after the other;
// so are the outputs, which belong to the module until the next call.
kokoro_error EXPORTED(kokoro_web_run_stage)(kokoro_bundle *bundle, const char *stage, int length, const size_t *inputs,
                                            size_t count, size_t *outputs) {
    static std::vector<kokoro::Floats> found;
    return kokoro::guarded([&] {
        std::vector<kokoro::Input> given;
        for (size_t index = 0; index < count; index++) {
            given.emplace_back(reinterpret_cast<const void *>(inputs[2 * index]), inputs[2 * index + 1]);
        }
        found = kokoro::Lease(bundle).speaker().run_stage(stage, length, given);
        for (const kokoro::Floats &each : found) {
            *outputs++ = reinterpret_cast<size_t>(each.data());
            *outputs++ = each.size() * sizeof(float);
        }
    });
}

// Sets `audio` to the next piece of a pushed text that is certain to be complete, or to null.
kokoro_error EXPORTED(kokoro_web_live_next)(kokoro_live *live, kokoro_audio **audio) {
    *audio = nullptr;
    return kokoro::guarded([&] {
        std::shared_ptr<kokoro::OpenedLive> opened = kokoro::find_live(live);
        kokoro::Lease lease(opened->bundle);
        kokoro::OpenedLive::Turn turn(*opened);
        lease.speaker();
        auto piece = opened->speech->next(lease.cancel_check(), false);
        if (piece) *audio = new kokoro::OwnedAudio(std::move(*piece));
    });
}

}  // extern "C"

#endif
