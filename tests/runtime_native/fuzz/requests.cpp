// Feeds requests and options: every size of a struct, every number and string. The three functions that take a request
// agree about it, and an audio is consistent.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "fuzzing.h"

namespace {

constexpr size_t MOST_CHARACTERS = 60;

// A copy of a struct in a memory block of the size that its first field says, so that no byte behind it is read.
class Given {
public:
    template <class Struct>
    Given(Struct fields, FuzzedDataProvider &bytes) {
        constexpr size_t SIZES[] = {0, 8, 31, 33, 79, 81, 88, 4096, 4097, SIZE_MAX};
        if (bytes.ConsumeBool()) fields.size = bytes.PickValueInArray(SIZES);
        size_t size = fields.size < sizeof(size_t) || fields.size > 4096 ? sizeof(size_t) : fields.size;
        block_.reset(new char[size]());
        std::memcpy(block_.get(), &fields, std::min(size, sizeof fields));
        if (size > sizeof fields) block_[size - 1] = static_cast<char>(bytes.ConsumeIntegralInRange(0, 1));
    }
    template <class Struct>
    const Struct *as() const { return reinterpret_cast<const Struct *>(block_.get()); }

private:
    std::unique_ptr<char[]> block_;
};

// Keeps the strings of a struct.
class Strings {
public:
    explicit Strings(FuzzedDataProvider &bytes) : bytes_(bytes) {}

    // Returns one of the usual strings, any string, or NULL.
    const char *next(std::initializer_list<const char *> usual, size_t most) {
        size_t choice = bytes_.ConsumeIntegralInRange<size_t>(0, usual.size() + 1);
        if (choice < usual.size()) return usual.begin()[choice];
        if (choice == usual.size()) return nullptr;
        kept_.push_back(std::make_unique<std::string>(bytes_.ConsumeRandomLengthString(most)));
        return kept_.back()->c_str();
    }

private:
    FuzzedDataProvider &bytes_;
    std::vector<std::unique_ptr<std::string>> kept_;
};

double number(FuzzedDataProvider &bytes) {
    const double usual[] = {0, 1, 0.25, 4, 60, -0.0, -1, 1e-300, 1e300, NAN, INFINITY, 60.0000001, 0.2499999};
    return bytes.ConsumeBool() ? bytes.PickValueInArray(usual) : bytes.ConsumeFloatingPoint<double>();
}

kokoro_request make_request(FuzzedDataProvider &bytes, Strings &strings) {
    kokoro_request request = {};
    request.size = sizeof request;
    auto inputs = {"abc abc", "On May 3 he read it.", "<speak>a<break time='1s'/>b</speak>"};
    const char *input = strings.next(inputs, MOST_CHARACTERS);
    request.voice = strings.next({"am_adam", "bf_emma", "af_heart*0.3+am_adam*2"}, 40);
    request.language = strings.next({"", "en-GB", "es", "it"}, 10);
    request.speed = number(bytes);
    request.sentence_pause = number(bytes);
    request.clause_pause = number(bytes);
    request.seed = bytes.ConsumeIntegral<uint64_t>();
    (bytes.ConsumeBool() ? request.text : request.phonemes) = input;
    request.ssml = bytes.ConsumeIntegralInRange(0, 3) == 0;
    request.skip_emoji = bytes.ConsumeBool();
    request.trim = bytes.ConsumeBool();
    return request;
}

void require_timings(const kokoro_timing *timings, size_t count, double start) {
    for (size_t index = 0; index < count; index++) {
        REQUIRE(timings[index].end >= timings[index].start && timings[index].start >= 0 && start >= 0);
        REQUIRE(kokoro::find_invalid_utf8(timings[index].text) == std::string::npos);
    }
}

void require_consistent(const kokoro_audio &audio) {
    REQUIRE(audio.sample_rate == 24000 && audio.samples && audio.phonemes);
    for (size_t index = 0; index < audio.sample_count; index++) REQUIRE(std::isfinite(audio.samples[index]));
    REQUIRE(audio.token_count == kokoro::decode_utf8(audio.phonemes).size());
    require_timings(audio.tokens, audio.token_count, audio.start);
    require_timings(audio.words, audio.word_count, audio.start);
    // A short token of speech that was stretched may be rounded to no frame.
    for (size_t index = 0; index < audio.duration_count; index++) REQUIRE(audio.durations[index] >= 0);
}

int take(const kokoro_audio *piece, void *samples) {
    require_consistent(*piece);
    *static_cast<size_t *>(samples) += piece->sample_count;
    return 0;
}

// A request that is not refused may still be too long for the model where it cannot be divided.
bool is_spoken(kokoro_error code) { return code == KOKORO_OK || code == KOKORO_UTTERANCE_TOO_LONG_ERROR; }

void speak(kokoro_bundle *bundle, const kokoro_request *request) {
    const kokoro_error checked = kokoro_check(bundle, request);
    if (checked) require_refusal(checked, kokoro_last_error());
    kokoro_audio *audio = nullptr;
    const kokoro_error spoken = kokoro_synthesize(bundle, request, &audio);
    size_t samples = 0;
    const kokoro_error streamed = kokoro_stream(bundle, request, take, &samples);
    REQUIRE((spoken == KOKORO_OK) == (audio != nullptr));
    REQUIRE(checked ? spoken == checked && streamed == checked : is_spoken(spoken) && is_spoken(streamed));
    if (audio) require_consistent(*audio);
    kokoro_audio_free(audio);
}

kokoro_bundle *load() {
    kokoro_options options = {};
    options.size = sizeof options;
    options.threads = 1;
    kokoro_bundle *bundle = nullptr;
    REQUIRE(kokoro_load(bundle_directory().c_str(), &options, &bundle) == KOKORO_OK);
    return bundle;
}

void load_with_options(FuzzedDataProvider &bytes) {
    Strings strings(bytes);
    kokoro_options options = {};
    options.size = sizeof options;
    options.threads = bytes.PickValueInArray({0, 1, 2, -1, 1025, INT32_MIN, INT32_MAX});
    options.skip_verify = bytes.ConsumeBool();
    options.level = strings.next({nullptr, "baseline", ""}, 20);
    options.manifest_sha256 = strings.next({nullptr, ""}, 70);
    Given given(options, bytes);
    kokoro_bundle *bundle = nullptr;
    const kokoro_error code = kokoro_load(bundle_directory().c_str(), given.as<kokoro_options>(), &bundle);
    REQUIRE((code == KOKORO_OK) == (bundle != nullptr));
    if (code) require_refusal(code, kokoro_last_error());
    kokoro_free(bundle);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static kokoro_bundle *const bundle = load();
    FuzzedDataProvider bytes(data, size);
    if (bytes.ConsumeIntegralInRange(0, 15) == 15) {
        load_with_options(bytes);
        return 0;
    }
    Strings strings(bytes);
    Given request(make_request(bytes, strings), bytes);
    speak(bundle, request.as<kokoro_request>());
    return 0;
}
