// The C interface. No exception leaves it.
#include "include/kokoro.h"

#include <atomic>
#include <optional>
#include <utility>

#include "bundle.h"
#include "base/errors.h"
#include "handles.h"
#include "interface.h"
#include "output/audio_file.h"
#include "speech/lead.h"
#include "speech/stream.h"
#include "base/utf8.h"

using namespace kokoro;

namespace {

// Throws USAGE_ERROR unless there is either text or phonemes, and SSML is text.
void require_one_input(const kokoro_request &given) {
    if (!given.text == !given.phonemes)
        throw Error(KOKORO_USAGE_ERROR, std::string("Expected either text or phonemes, found ") +
                                            (given.text ? "both" : "neither") + ": give one of them.");
    if (given.phonemes && given.ssml)
        throw Error(KOKORO_USAGE_ERROR,
                    "The option ssml is for text, found phonemes: give text, or leave it out.");
}

// Returns the plans of a request; each first makes sure that the call was not cancelled.
Plans plans_of(const Lease &lease, const kokoro_request *request, bool whole) {
    const kokoro_request given = known_request(request);
    require_one_input(given);
    Bundle &bundle = lease.speaker();
    bundle.require_all_stages();
    Request asked = asked_for(given, whole);
    Capabilities capabilities = bundle.capabilities();
    NextRequest parts;
    if (given.text) {
        TextInput text{decode_utf8(given.text, "text"), given.ssml != 0, given.skip_emoji != 0,
                               text_of(given.language, "language")};
        parts = bundle.text_parts(text, asked, capabilities);
    } else {
        asked.segments.emplace_back();
        asked.segments[0].phonemes = decode_utf8(given.phonemes, "phonemes");
        parts = [next = std::optional(asked)]() mutable { return std::exchange(next, std::nullopt); };
    }
    auto next = [check = lease.cancel_check(), parts] {
        check();
        return parts();
    };
    return Plans(capabilities, next, whole);
}

// Returns what a function returns for a bundle, or a default for a bundle that was freed.
template <class Function, class Result>
Result fact_of(const kokoro_bundle *bundle, Result otherwise, Function function) {
    Result result = otherwise;
    guarded([&] { result = function(Lease(bundle).bundle()); });
    return result;
}

}  // namespace

// A speech that was opened. The bundle may be freed before it.
struct kokoro_pieces {
    kokoro_bundle *const bundle;
    kokoro::Speech speech;
    kokoro::Player player = {};
};

extern "C" {

const char *kokoro_version(void) { return KOKORO_VERSION; }

const char *kokoro_last_error(void) {
    const char *message = "";
    guarded([&] { message = last_message(); });
    return message;
}

kokoro_error kokoro_load(const char *directory, const kokoro_options *options, kokoro_bundle **bundle) {
    return guarded([&] {
        require(directory, "directory");
        require(bundle, "bundle");
        *bundle = nullptr;
        LoadOptions chosen;
        if (options) {
            const kokoro_options given = known_options(options);
            chosen.threads = given.threads;
            if (given.level) chosen.level = text_of(given.level, "level");
            if (given.arithmetic) chosen.arithmetic = text_of(given.arithmetic, "arithmetic");
            if (given.manifest_sha256) chosen.manifest_sha256 = text_of(given.manifest_sha256, "manifest_sha256");
            chosen.verify = !given.skip_verify;
        }
        *bundle = open_handle(Bundle::load(directory, chosen));
    });
}

void kokoro_free(kokoro_bundle *bundle) {
    guarded([&] { close_handle(bundle); });
}

const char *kokoro_model_name(const kokoro_bundle *bundle) {
    return fact_of(bundle, (const char *)nullptr, [](auto &loaded) { return loaded.manifest().model.c_str(); });
}

int kokoro_is_synthetic(const kokoro_bundle *bundle) {
    return fact_of(bundle, 0, [](auto &loaded) { return loaded.manifest().synthetic; });
}

const char *kokoro_level(const kokoro_bundle *bundle) {
    return fact_of(bundle, (const char *)nullptr, [](auto &loaded) { return loaded.level().c_str(); });
}

size_t kokoro_max_phonemes(const kokoro_bundle *bundle) {
    return fact_of(bundle, size_t(0), [](auto &loaded) { return loaded.max_phonemes(); });
}

size_t kokoro_voice_count(const kokoro_bundle *bundle) {
    return fact_of(bundle, size_t(0), [](auto &loaded) { return loaded.manifest().voices.size(); });
}

const char *kokoro_voice_name(const kokoro_bundle *bundle, size_t index) {
    return fact_of(bundle, (const char *)nullptr, [&](auto &loaded) {
        const auto &voices = loaded.manifest().voices;
        return index < voices.size() ? voices[index].name.c_str() : nullptr;
    });
}

kokoro_error kokoro_check(kokoro_bundle *bundle, const kokoro_request *request) {
    return guarded([&] {
        Lease lease(bundle);
        Plans plans = plans_of(lease, request, true);
        while (plans.next()) {
        }
    });
}

kokoro_error kokoro_synthesize(kokoro_bundle *bundle, const kokoro_request *request, kokoro_audio **audio) {
    return guarded([&] {
        Lease lease(bundle);
        require(audio, "audio");
        *audio = nullptr;
        auto prepare = [&speaker = lease.speaker(), check = lease.cancel_check()](const auto &utterance) {
            return speaker.prepare(utterance, check);
        };
        Speech speech(plans_of(lease, request, true), prepare);
        Audio whole = *speech.next();
        while (auto piece = speech.next()) whole.append(std::move(*piece));
        *audio = new OwnedAudio(std::move(whole));
    });
}

kokoro_error kokoro_stream(kokoro_bundle *bundle, const kokoro_request *request, kokoro_callback callback, void *user) {
    return guarded([&] {
        Lease lease(bundle);
        require(callback != nullptr, "callback");
        std::atomic<bool> stopped{false};
        auto check = [&stopped, cancelled = lease.cancel_check()] {
            cancelled();
            if (stopped) throw Error(KOKORO_CANCELLED, "The callback stopped the stream before its end.");
        };
        auto prepare = [&speaker = lease.speaker(), check](const auto &utterance) {
            return speaker.prepare(utterance, check);
        };
        Speech speech(plans_of(lease, request, false), prepare);
        Player player;
        auto take = [&](const Audio &piece) {
            // A piece that was computed before is not handed over after `kokoro_cancel`.
            check();
            OwnedAudio given(piece);
            given.lead = player.take(double(given.sample_count) / given.sample_rate);
            return call(callback, &given, user) == 0;
        };
        auto next = [&, steady = known_request(request).steady != 0]() mutable {
            return std::exchange(steady, false) ? steady_start(speech) : speech.next();
        };
        stream(next, take, [&] { stopped = true; });
        check();
    });
}

kokoro_error kokoro_pieces_open(kokoro_bundle *bundle, const kokoro_request *request, kokoro_pieces **pieces) {
    return guarded([&] {
        require(pieces, "pieces");
        *pieces = nullptr;
        Lease lease(bundle);
        // Each call has a lease, so the bundle is there.
        auto prepare = [&speaker = lease.speaker(), check = lease.cancel_check()](const auto &utterance) {
            return speaker.prepare(utterance, check);
        };
        *pieces = new kokoro_pieces{bundle, kokoro::Speech(plans_of(lease, request, false), prepare)};
    });
}

kokoro_error kokoro_pieces_next(kokoro_pieces *pieces, kokoro_audio **audio) {
    return guarded([&] {
        require(pieces, "pieces");
        require(audio, "audio");
        *audio = nullptr;
        Lease lease(pieces->bundle);
        lease.speaker();
        auto piece = pieces->speech.next();
        if (!piece) return;
        auto given = std::make_unique<OwnedAudio>(std::move(*piece));
        given->lead = pieces->player.take(double(given->sample_count) / given->sample_rate);
        *audio = given.release();
    });
}

void kokoro_pieces_free(kokoro_pieces *pieces) { delete pieces; }

void kokoro_cancel(kokoro_bundle *bundle) {
    guarded([&] { cancel_calls(bundle); });
}

void kokoro_audio_free(kokoro_audio *audio) { delete static_cast<OwnedAudio *>(audio); }

kokoro_error kokoro_write_wav(const kokoro_audio *audio, const char *path) {
    return guarded([&] {
        require(audio, "audio");
        require(path, "path");
        write_wav(path, audio->samples, audio->sample_count, audio->sample_rate);
    });
}

}  // extern "C"
