// Feeds sequences of calls: each input is what three threads do at once with bundles that they share, among them
// bundles that another thread frees. Every call ends, and in a way that the header names.
#include <atomic>
#include <thread>
#include <vector>

#include "fuzzing.h"

namespace {

constexpr size_t THREADS = 3, MOST_CALLS = 8, BUNDLES = 2, MOST_REPETITIONS = 12;

// Handles that all threads share; a freed one stays here until another one takes its place.
std::atomic<kokoro_bundle *> bundles[BUNDLES];
std::atomic<kokoro_live *> lives[BUNDLES];

void require_outcome(kokoro_error code) {
    REQUIRE(code == KOKORO_OK || code == KOKORO_CANCELLED || code / 100 == 2 || code / 100 == 3);
    if (code) REQUIRE(*kokoro_last_error());
}

void load(size_t place) {
    kokoro_options options = {};
    options.size = sizeof options;
    options.threads = 1;
    // The files were compared with their digests in the first call.
    options.skip_verify = 1;
    kokoro_bundle *bundle = nullptr;
    REQUIRE(kokoro_load(bundle_directory().c_str(), &options, &bundle) == KOKORO_OK);
    kokoro_free(bundles[place].exchange(bundle));
}

void read(kokoro_bundle *bundle) {
    // Their strings live until another thread frees the bundle.
    kokoro_voice_name(bundle, 0);
    kokoro_level(bundle);
    REQUIRE(kokoro_voice_count(bundle) <= 3 && kokoro_max_phonemes(bundle) <= 20);
}

void act(FuzzedDataProvider &bytes, bool in_callback);

// The rest of a thread's bytes decide what its callbacks do.
int take(const kokoro_audio *piece, void *user) {
    auto &bytes = *static_cast<FuzzedDataProvider *>(user);
    REQUIRE(piece->samples && piece->phonemes);
    if (bytes.ConsumeBool()) act(bytes, true);
    return bytes.ConsumeIntegralInRange(0, 7) == 7;
}

// Does something with a speech whose text is pushed. Never waits for text, which nobody might push.
void act_on_live(FuzzedDataProvider &bytes, size_t place, const std::string &text, bool in_callback) {
    kokoro_live *live = lives[place];
    switch (bytes.ConsumeIntegralInRange(0, in_callback ? 4 : 6)) {
        case 0: kokoro_live_free(live); break;
        case 1: {
            kokoro_request request = {};
            request.size = sizeof request;
            request.language = "es";
            kokoro_live *opened = nullptr;
            require_outcome(kokoro_live_open(bundles[place], &request, &opened));
            kokoro_live_free(lives[place].exchange(opened));
            break;
        }
        case 2: require_outcome(kokoro_live_push(live, text.c_str())); break;
        case 3: require_outcome(kokoro_live_flush(live)); break;
        case 4: require_outcome(kokoro_live_end(live)); break;
        default: require_outcome(kokoro_live_stream(live, 0, take, &bytes));
    }
}

void act(FuzzedDataProvider &bytes, bool in_callback) {
    const size_t place = bytes.ConsumeIntegralInRange<size_t>(0, BUNDLES - 1);
    kokoro_bundle *bundle = bundles[place];
    std::string phonemes;
    for (size_t count = bytes.ConsumeIntegralInRange<size_t>(1, MOST_REPETITIONS); count--;) phonemes += "abc ab ";
    kokoro_request request = {};
    request.size = sizeof request;
    (bytes.ConsumeIntegralInRange(0, 3) == 3 ? request.text : request.phonemes) = phonemes.c_str();
    request.language = "es";
    kokoro_audio *audio = nullptr;
    // A stream within a stream's callback is one call deep at most.
    switch (bytes.ConsumeIntegralInRange(0, in_callback ? 6 : 8)) {
        case 0: kokoro_free(bundle); break;
        case 1: kokoro_cancel(bundle); break;
        case 2: read(bundle); break;
        case 3: require_outcome(kokoro_check(bundle, &request)); break;
        case 4: require_outcome(kokoro_synthesize(bundle, &request, &audio)); break;
        case 5: load(place); break;
        case 6: act_on_live(bytes, place, bytes.ConsumeBytesAsString(3) + phonemes, in_callback); break;
        default: require_outcome(kokoro_stream(bundle, &request, take, &bytes));
    }
    kokoro_audio_free(audio);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < THREADS) return -1;
    for (size_t place = 0; place < BUNDLES; place++) load(place);
    std::vector<std::thread> threads;
    for (size_t number = 0; number < THREADS; number++) {
        threads.emplace_back([=] {
            const size_t share = size / THREADS;
            FuzzedDataProvider bytes(data + number * share, share);
            for (size_t call = 0; call < MOST_CALLS && bytes.remaining_bytes(); call++) act(bytes, false);
        });
    }
    for (std::thread &each : threads) each.join();
    for (auto &live : lives) kokoro_live_free(live.exchange(nullptr));
    for (auto &bundle : bundles) kokoro_free(bundle.exchange(nullptr));
    return 0;
}
