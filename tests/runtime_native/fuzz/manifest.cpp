// Feeds the reader of manifests: it refuses bytes with one of its four errors, or takes them, every time alike.
#include "base/errors.h"
#include "format/parse.h"
#include "fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const std::string bytes(reinterpret_cast<const char *>(data), size);
    try {
        kokoro::Manifest manifest = kokoro::parse_manifest(bytes);
        REQUIRE(!manifest.stages.empty() && !manifest.files.empty() && manifest.max_phonemes > 0);
        for (const kokoro::Tensor &tensor : manifest.tensors) {
            REQUIRE(tensor.offset >= 0 && tensor.bytes > 0 && tensor.offset % kokoro::ALIGNMENT == 0);
            REQUIRE(tensor.offset <= INT64_MAX - tensor.bytes);
        }
    } catch (const kokoro::Error &refusal) {
        require_refusal(refusal.code, refusal.what());
        REQUIRE(refusal.code >= KOKORO_MSGPACK_ERROR && refusal.code <= KOKORO_REQUIREMENT_ERROR);
    }
    return 0;
}
