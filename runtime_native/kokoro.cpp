// The C interface. No exception leaves it.
#include "include/kokoro.h"

#include <atomic>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "bundle.h"
#include "engine/floating_point.h"
#include "base/errors.h"
#include "handles.h"
#include "output/audio_file.h"
#include "sized_struct.h"
#include "speech/lead.h"
#include "speech/stream.h"
#include "base/thread_own.h"
#include "base/utf8.h"

using kokoro::Error;
using kokoro::Lease;

namespace {

struct LastError {
    std::string message;
};

kokoro_error fail(kokoro_error code, const char *message) {
    try {
        std::string &kept = kokoro::own_of_thread<LastError>().message;
        kept.clear();
        kept = kokoro::repaired_utf8(message);
    } catch (const std::bad_alloc &) {
        // The code is known at least.
    }
    return code;
}

// Calls a function and returns what it threw as a code.
template <class Function>
kokoro_error guarded(Function function) noexcept {
    try {
        kokoro::FloatingPointMode mode;
        function();
        return KOKORO_OK;
    } catch (const Error &failure) {
        return fail(failure.code, failure.what());
    } catch (const std::bad_alloc &) {
        return fail(KOKORO_RESOURCE_ERROR, "This machine is out of memory: free some, and try again.");
    } catch (const std::system_error &failure) {
        return fail(KOKORO_RESOURCE_ERROR, failure.what());
    } catch (const std::exception &failure) {
        return fail(KOKORO_INTERNAL_ERROR, failure.what());
    } catch (...) {
        return fail(KOKORO_INTERNAL_ERROR, "An unknown error occurred: please report this.");
    }
}

void require(bool given, const char *argument) {
    if (given) return;
    throw Error(KOKORO_ARGUMENT_TYPE_ERROR, std::string("The argument '") + argument + "' must not be NULL.");
}

// Returns a string of the caller's, or a default in place of NULL. Throws TEXT_ENCODING_ERROR with its field's name.
std::string text_of(const char *given, const char *field, const char *otherwise = "") {
    if (!given) return otherwise;
    kokoro::decode_utf8(given, ("field '" + std::string(field) + "'").c_str());
    return given;
}

// Sizes of the structs in the first version, and of this one. They have no padding, so a new field lies behind them.
constexpr size_t FIRST_OPTIONS = 32, FIRST_REQUEST = 112;
static_assert(sizeof(kokoro_options) == FIRST_OPTIONS && sizeof(kokoro_request) == FIRST_REQUEST);
constexpr double END_PAUSE = 0.3;  // seconds

// Returns the request of a caller in the form of this library.
kokoro_request known_request(const kokoro_request *request) {
    require(request, "request");
    const kokoro_request given = kokoro::known_fields(request, FIRST_REQUEST, "request");
    return given;
}

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
kokoro::Plans plans_of(const Lease &lease, const kokoro_request *request, bool whole) {
    const kokoro_request given = known_request(request);
    require_one_input(given);
    kokoro::Bundle &bundle = lease.speaker();
    bundle.require_all_stages();
    kokoro::Request asked;
    asked.voice = text_of(given.voice, "voice", "af_heart");
    asked.speed = given.speed == 0 ? 1 : given.speed;
    asked.seed = given.seed;
    asked.sentence_pause = given.sentence_pause;
    asked.clause_pause = given.clause_pause;
    asked.trim = given.trim > 0 || (given.trim == 0 && !whole);
    asked.end_pause = given.end_pause == 0 ? END_PAUSE : given.end_pause < 0 ? 0 : given.end_pause;
    if (given.loudness != 0) asked.loudness = given.loudness;
    asked.stretch = !given.no_stretch;
    asked.one_pass = given.one_pass;
    kokoro::Capabilities capabilities = bundle.capabilities();
    kokoro::NextRequest parts;
    if (given.text) {
        kokoro::TextInput text{kokoro::decode_utf8(given.text, "text"), given.ssml != 0, given.skip_emoji != 0,
                               text_of(given.language, "language")};
        parts = bundle.text_parts(text, asked, capabilities);
    } else {
        asked.segments.emplace_back();
        asked.segments[0].phonemes = kokoro::decode_utf8(given.phonemes, "phonemes");
        parts = [next = std::optional(asked)]() mutable { return std::exchange(next, std::nullopt); };
    }
    auto next = [check = lease.cancel_check(), parts] {
        check();
        return parts();
    };
    return kokoro::Plans(capabilities, next, whole);
}

// What a kokoro_audio points to.
class OwnedAudio : public kokoro_audio {
public:
    explicit OwnedAudio(kokoro::Audio audio) : kokoro_audio{}, audio_(std::move(audio)) {
        text_ = kokoro::encode_utf8(audio_.phonemes);
        texts_.reserve(audio_.tokens.size() + audio_.words.size());
        // No samples are no null pointer either.
        audio_.samples.reserve(1);
        samples = audio_.samples.data();
        sample_count = audio_.samples.size();
        sample_rate = kokoro::SAMPLE_RATE;
        start = audio_.start;
        phonemes = text_.c_str();
        tokens = timings(audio_.tokens, tokens_);
        token_count = tokens_.size();
        words = timings(audio_.words, words_);
        word_count = words_.size();
        durations = audio_.durations.data();
        duration_count = audio_.durations.size();
    }

private:
    const kokoro_timing *timings(const std::vector<kokoro::Timing> &from, std::vector<kokoro_timing> &to) {
        for (const kokoro::Timing &each : from) {
            texts_.push_back(kokoro::encode_utf8(each.text));
            to.push_back({texts_.back().c_str(), each.start, each.end});
        }
        return to.data();
    }

    kokoro::Audio audio_;
    std::string text_;
    std::vector<std::string> texts_;
    std::vector<kokoro_timing> tokens_, words_;
};

// Returns what a function returns for a bundle, or a default for a bundle that was freed.
template <class Function, class Result>
Result fact_of(const kokoro_bundle *bundle, Result otherwise, Function function) {
    Result result = otherwise;
    guarded([&] { result = function(Lease(bundle).bundle()); });
    return result;
}

// Calls a callback from a frame that nothing unwinds: an exception of an app's own C++ library would go on through the
// frames of this one, which do not understand it, and jump anywhere. So it ends the process as one in `noexcept` does.
#if defined(__clang__)
__attribute__((noinline, nouwtable, disable_tail_calls))
#endif
int call(kokoro_callback callback, const kokoro_audio *piece, void *user) noexcept {
    using Final = int (*)(const kokoro_audio *, void *) noexcept;
    return reinterpret_cast<Final>(callback)(piece, user);
}

}  // namespace

extern "C" {

const char *kokoro_version(void) { return KOKORO_VERSION; }

const char *kokoro_last_error(void) {
    const char *message = "";
    guarded([&] { message = kokoro::own_of_thread<LastError>().message.c_str(); });
    return message;
}

kokoro_error kokoro_load(const char *directory, const kokoro_options *options, kokoro_bundle **bundle) {
    return guarded([&] {
        require(directory, "directory");
        require(bundle, "bundle");
        *bundle = nullptr;
        kokoro::LoadOptions chosen;
        if (options) {
            const kokoro_options given = kokoro::known_fields(options, FIRST_OPTIONS, "options");
            chosen.threads = given.threads;
            if (given.level) chosen.level = text_of(given.level, "level");
            if (given.manifest_sha256) chosen.manifest_sha256 = text_of(given.manifest_sha256, "manifest_sha256");
            chosen.verify = !given.skip_verify;
        }
        *bundle = kokoro::open_handle(kokoro::Bundle::load(directory, chosen));
    });
}

void kokoro_free(kokoro_bundle *bundle) {
    guarded([&] { kokoro::close_handle(bundle); });
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
        kokoro::Plans plans = plans_of(lease, request, true);
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
        kokoro::Speech speech(plans_of(lease, request, true), prepare);
        kokoro::Audio whole = *speech.next();
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
        kokoro::Speech speech(plans_of(lease, request, false), prepare);
        kokoro::Player player;
        auto take = [&](const kokoro::Audio &piece) {
            // A piece that was computed before is not handed over after `kokoro_cancel`.
            check();
            OwnedAudio given(piece);
            given.lead = player.take(double(given.sample_count) / given.sample_rate);
            return call(callback, &given, user) == 0;
        };
        kokoro::stream(speech, known_request(request).steady, take, [&] { stopped = true; });
        check();
    });
}

void kokoro_cancel(kokoro_bundle *bundle) {
    guarded([&] { kokoro::cancel_calls(bundle); });
}

void kokoro_audio_free(kokoro_audio *audio) { delete static_cast<OwnedAudio *>(audio); }

kokoro_error kokoro_write_wav(const kokoro_audio *audio, const char *path) {
    return guarded([&] {
        require(audio, "audio");
        require(path, "path");
        kokoro::write_wav(path, audio->samples, audio->sample_count, audio->sample_rate);
    });
}

}  // extern "C"
