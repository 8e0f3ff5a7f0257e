// Uses bundles as apps do, from many threads at once: ./many_threads BUNDLE ROUNDS THREADS TEXT...
// Every round of a thread loads a bundle or shares one, speaks, streams, cancels and frees in a random order. A second
// thread cancels at many moments of a speech. An error that is not expected ends the program with status 1.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "kokoro.h"

namespace {

using Random = std::mt19937;

constexpr int MOMENTS = 40;

struct Counts {
    std::atomic<long> loads{0}, spoken{0}, pieces{0}, cancelled{0}, refused{0};
} counts;

std::string directory;
std::vector<std::string> texts;

int below(Random &random, int most) { return std::uniform_int_distribution<int>(0, most - 1)(random); }

// Counts an outcome; a defect ends the program.
void expect(kokoro_error code) {
    if (code == KOKORO_OK) counts.spoken++;
    else if (code == KOKORO_CANCELLED) counts.cancelled++;
    else if (code / 100 == 2 || code / 100 == 3) counts.refused++;
    else {
        std::fprintf(stderr, "error %d: %s\n", code, kokoro_last_error());
        std::_Exit(1);
    }
}

kokoro_bundle *load(int threads) {
    kokoro_options options = {};
    options.size = sizeof options;
    options.threads = threads;
    kokoro_bundle *bundle;
    expect(kokoro_load(directory.c_str(), &options, &bundle));
    counts.loads++;
    return bundle;
}

struct Listener {
    kokoro_bundle *bundle;
    int pieces, ends;  // number of pieces before the end; 0: it goes on, 1: it is stopped, 2: it is cancelled
};

int listen(const kokoro_audio *piece, void *user) {
    auto &listener = *static_cast<Listener *>(user);
    double sum = 0;
    for (size_t sample = 0; sample < piece->sample_count; sample++) sum += piece->samples[sample];
    counts.pieces++;
    if (sum != sum || listener.pieces--) return 0;
    if (listener.ends == 2) kokoro_cancel(listener.bundle);
    return listener.ends == 1;
}

void speak(kokoro_bundle *bundle, Random &random) {
    static const char *const VOICES[] = {nullptr, "am_adam", "af_bella*0.3+am_adam*0.9", "nobody"};
    kokoro_request request = {};
    request.size = sizeof request;
    const std::string &text = texts[below(random, texts.size())];
    std::string phonemes;
    for (int count = below(random, 70) + 1; count--;) phonemes += "abc abcabc"[below(random, 10)];
    const bool is_text = below(random, 4) == 0;
    (is_text ? request.text : request.phonemes) = is_text ? text.c_str() : phonemes.c_str();
    request.voice = VOICES[below(random, 16) % (below(random, 2) ? 3 : 4)];
    request.seed = random();
    request.trim = below(random, 2);
    request.clause_pause = below(random, 2) * 0.1;
    if (below(random, 3) == 0) return expect(kokoro_check(bundle, &request));
    if (below(random, 2)) {
        Listener listener{bundle, below(random, 3), below(random, 3)};
        return expect(kokoro_stream(bundle, &request, listen, &listener));
    }
    kokoro_audio *audio = nullptr;
    expect(kokoro_synthesize(bundle, &request, &audio));
    kokoro_audio_free(audio);
}

// Cancels a speech at moments spread over the time that it takes.
void cancel_at_many_moments(kokoro_bundle *bundle, Random &random) {
    using Clock = std::chrono::steady_clock;
    const Random same = random;
    const Clock::time_point start = Clock::now();
    speak(bundle, random);
    const Clock::duration whole = Clock::now() - start;
    for (int moment = 0; moment < MOMENTS; moment++) {
        std::thread canceller([=] {
            std::this_thread::sleep_for(whole * moment / MOMENTS);
            kokoro_cancel(bundle);
        });
        Random again = same;
        speak(bundle, again);
        canceller.join();
    }
}

void live(int seed, int rounds, kokoro_bundle *shared) {
    Random random(seed);
    while (rounds--) {
        kokoro_bundle *own = below(random, 3) ? nullptr : load(1 + below(random, 2));
        kokoro_bundle *bundle = own ? own : shared;
        kokoro_max_phonemes(bundle);
        if (below(random, 10) == 0) cancel_at_many_moments(bundle, random);
        for (int count = below(random, 6); count--;) speak(bundle, random);
        kokoro_free(own);
    }
}

}  // namespace

int main(int count, char **arguments) {
    directory = arguments[1];
    texts.assign(arguments + 4, arguments + count);
    kokoro_bundle *shared = load(2);
    std::vector<std::thread> threads;
    for (int seed = 0; seed < std::atoi(arguments[3]); seed++) threads.emplace_back(live, seed, std::atoi(arguments[2]), shared);
    for (std::thread &each : threads) each.join();
    kokoro_free(shared);
    std::printf("%ld loads, %ld ended well, %ld pieces, %ld cancelled, %ld refused\n", counts.loads.load(),
                counts.spoken.load(), counts.pieces.load(), counts.cancelled.load(), counts.refused.load());
}
