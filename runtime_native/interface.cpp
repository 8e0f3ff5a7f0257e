#include "interface.h"

#include <utility>

#include "base/thread_own.h"
#include "base/utf8.h"
#include "sized_struct.h"

namespace kokoro {

namespace {

// Sizes of the structs in the first version, and of this one. They have no padding at their
// end, so a new field lies behind them.
constexpr size_t FIRST_OPTIONS = sizeof(void *) == 8 ? 32 : 20, FIRST_REQUEST = sizeof(void *) == 8 ? 112 : 96;
static_assert(sizeof(kokoro_options) > FIRST_OPTIONS && sizeof(kokoro_request) == FIRST_REQUEST);
constexpr double END_PAUSE = 0.3;  // seconds

struct LastError {
    std::string message;
};

}  // namespace

kokoro_error fail(kokoro_error code, const char *message) {
    try {
        std::string &kept = own_of_thread<LastError>().message;
        kept.clear();
        kept = repaired_utf8(message);
    } catch (const std::bad_alloc &) {
        // The code is known at least.
    }
    return code;
}

const char *last_message() { return own_of_thread<LastError>().message.c_str(); }

void require(bool given, const char *argument) {
    if (given) return;
    throw Error(KOKORO_ARGUMENT_TYPE_ERROR, std::string("The argument '") + argument + "' must not be NULL.");
}

std::string text_of(const char *given, const char *field, const char *otherwise) {
    if (!given) return otherwise;
    decode_utf8(given, ("field '" + std::string(field) + "'").c_str());
    return given;
}

kokoro_options known_options(const kokoro_options *options) {
    return known_fields(options, FIRST_OPTIONS, "options");
}

kokoro_request known_request(const kokoro_request *request) {
    require(request, "request");
    return known_fields(request, FIRST_REQUEST, "request");
}

Request asked_for(const kokoro_request &given, bool whole) {
    Request asked;
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
    return asked;
}

OwnedAudio::OwnedAudio(Audio audio) : kokoro_audio{}, audio_(std::move(audio)) {
    text_ = encode_utf8(audio_.phonemes);
    texts_.reserve(audio_.tokens.size() + audio_.words.size());
    // No samples are no null pointer either.
    audio_.samples.reserve(1);
    samples = audio_.samples.data();
    sample_count = audio_.samples.size();
    sample_rate = SAMPLE_RATE;
    start = audio_.start;
    phonemes = text_.c_str();
    tokens = timings(audio_.tokens, tokens_);
    token_count = tokens_.size();
    words = timings(audio_.words, words_);
    word_count = words_.size();
    durations = audio_.durations.data();
    duration_count = audio_.durations.size();
}

const kokoro_timing *OwnedAudio::timings(const std::vector<Timing> &from, std::vector<kokoro_timing> &to) {
    for (const Timing &each : from) {
        texts_.push_back(encode_utf8(each.text));
        to.push_back({texts_.back().c_str(), each.start, each.end});
    }
    return to.data();
}

// An exception of an app's own C++ library would go on through the
// frames of this one, which do not understand it, and jump anywhere. So it ends the process as one in `noexcept` does.
#if defined(__clang__)
__attribute__((noinline, nouwtable, disable_tail_calls))
#endif
int call(kokoro_callback callback, const kokoro_audio *piece, void *user) noexcept {
    using Final = int (*)(const kokoro_audio *, void *) noexcept;
    return reinterpret_cast<Final>(callback)(piece, user);
}

}  // namespace kokoro
