// Ends bundles and processes while threads use them: ./lifetimes SCENARIO BUNDLE
//
// What is not expected ends the program with status 1 and the line; a sanitiser reports what touches freed memory.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kokoro.h"

// zig's C++ library marks containers with it, and g++ 12's runtime of the address sanitiser does not have it.
extern "C" void __sanitizer_annotate_double_ended_contiguous_container(
    const void *, const void *, const void *, const void *, const void *, const void *) {}

namespace {

constexpr int ROUNDS = 6;

std::string directory;

#define EXPECT(condition) \
    if (!(condition)) { \
        std::fprintf(stderr, "line %d: %s; %s\n", __LINE__, #condition, kokoro_last_error()); \
        std::_Exit(1); \
    }

kokoro_bundle *load() {
    kokoro_options options = {};
    options.size = sizeof options;
    options.threads = 2;
    kokoro_bundle *bundle;
    EXPECT(kokoro_load(directory.c_str(), &options, &bundle) == KOKORO_OK);
    return bundle;
}

struct Request : kokoro_request {
    Request(const char *unit, int repetitions, bool is_text = false) : kokoro_request{} {
        while (repetitions--) content += unit;
        size = sizeof(kokoro_request);
        (is_text ? text : phonemes) = content.c_str();
        language = "es";
    }
    std::string content;
};
// Phonemes of many pieces and of few. Threads use them until the process has ended.
const Request &LONG = *new Request("abc abcabc ", 600), &SHORT = *new Request("abc abcabc ", 1);
// Text that the bundle cannot speak, and text that takes a second to read.
const Request &SPANISH = *new Request("el 3 de mayo. ", 1000, true);
const Request &BOOK = *new Request("[x](/abc/) ", 150'000, true);

using Callback = std::function<int()>;

int call(const kokoro_audio *, void *user) { return (*static_cast<Callback *>(user))(); }

kokoro_error stream(kokoro_bundle *bundle, const Request &request, Callback callback = [] { return 0; }) {
    return kokoro_stream(bundle, &request, call, &callback);
}

kokoro_error synthesise(kokoro_bundle *bundle, const Request &request) {
    kokoro_audio *audio = nullptr;
    kokoro_error code = kokoro_synthesize(bundle, &request, &audio);
    EXPECT((code == KOKORO_OK) == (audio != nullptr));
    kokoro_audio_free(audio);
    return code;
}

kokoro_error check(kokoro_bundle *bundle, const Request &request) { return kokoro_check(bundle, &request); }

// Every function refuses a handle that was freed, or that is none.
void expect_closed(kokoro_bundle *bundle) {
    EXPECT(synthesise(bundle, SHORT) == KOKORO_CLOSED_BUNDLE_ERROR);
    EXPECT(stream(bundle, SHORT) == KOKORO_CLOSED_BUNDLE_ERROR);
    EXPECT(check(bundle, SHORT) == KOKORO_CLOSED_BUNDLE_ERROR);
    EXPECT(!kokoro_model_name(bundle) && !kokoro_level(bundle) && !kokoro_voice_name(bundle, 0));
    EXPECT(!kokoro_is_synthetic(bundle) && !kokoro_max_phonemes(bundle) && !kokoro_voice_count(bundle));
    EXPECT(std::string(kokoro_last_error()).find("load it again") != std::string::npos);
    kokoro_cancel(bundle);
    kokoro_free(bundle);
}

// Threads that use a bundle in every way until it is freed, and count the calls that the free cancelled.
class Users {
public:
    explicit Users(kokoro_bundle *bundle) : bundle_(bundle) {
        start([=] { return synthesise(bundle, LONG); });
        start([=] { return stream(bundle, LONG); });
        start([=] { return check(bundle, SPANISH); });
        start([=] { return kokoro_voice_name(bundle, 2) ? KOKORO_OK : KOKORO_CLOSED_BUNDLE_ERROR; });
        while (running_ < 4) std::this_thread::yield();
    }

    int join() {
        for (std::thread &each : threads_) each.join();
        return cancelled_;
    }

private:
    void start(std::function<kokoro_error()> call) {
        threads_.emplace_back([this, call] {
            running_++;
            kokoro_error code;
            while ((code = call()) != KOKORO_CLOSED_BUNDLE_ERROR) {
                EXPECT(code == KOKORO_OK || code == KOKORO_CANCELLED || code == KOKORO_UNKNOWN_PHONEMES_ERROR);
                cancelled_ += code == KOKORO_CANCELLED;
            }
            expect_closed(bundle_);
        });
    }

    kokoro_bundle *bundle_;
    std::atomic<int> running_{0}, cancelled_{0};
    std::vector<std::thread> threads_;
};

// One thread frees a bundle, or several at once.
void free_while_threads_use_it() {
    int cancelled = 0;
    std::set<kokoro_bundle *> handles;
    for (int round = 0; round < ROUNDS; round++) {
        kokoro_bundle *bundle = load();
        EXPECT(handles.insert(bundle).second);
        Users users(bundle);
        std::vector<std::thread> others;
        for (int count = round % 3; count--;) others.emplace_back([=] { kokoro_free(bundle); });
        kokoro_free(bundle);
        expect_closed(bundle);
        for (std::thread &each : others) each.join();
        cancelled += users.join();
    }
    EXPECT(cancelled > 0);
    int other = 0;
    expect_closed(reinterpret_cast<kokoro_bundle *>(&other));
}

// `kokoro_free` has waited for the calls when it returns: what their callbacks use may be gone then.
void free_waits() {
    for (int round = 0; round < ROUNDS; round++) {
        kokoro_bundle *bundle = load();
        std::atomic<bool> begun{false}, freed{false};
        std::thread speaker([&] {
            kokoro_error code = stream(bundle, LONG, [&] {
                begun = true;
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                EXPECT(!freed);
                return 0;
            });
            EXPECT(code == KOKORO_CANCELLED);
        });
        while (!begun) std::this_thread::yield();
        kokoro_free(bundle);
        freed = true;
        speaker.join();
    }
}

void cancel_while_text_is_read() {
    kokoro_bundle *bundle = load();
    std::atomic<bool> ended{false};
    std::thread reader([&] {
        EXPECT(check(bundle, BOOK) == KOKORO_CANCELLED);
        ended = true;
    });
    while (!ended) kokoro_cancel(bundle), std::this_thread::yield();
    reader.join();
    kokoro_free(bundle);
}

void act_in_callbacks() {
    kokoro_bundle *bundle = load(), *other = load();
    // Every function may be called on the bundle that speaks, and on another one.
    EXPECT(stream(bundle, SHORT, [&] {
        EXPECT(synthesise(bundle, SHORT) == KOKORO_OK && check(bundle, SHORT) == KOKORO_OK);
        EXPECT(stream(bundle, SHORT) == KOKORO_OK && kokoro_voice_count(bundle));
        kokoro_free(other);
        expect_closed(other);
        return 0;
    }) == KOKORO_OK);
    EXPECT(stream(bundle, LONG, [&] { return kokoro_cancel(bundle), 0; }) == KOKORO_CANCELLED);
    Users users(bundle);
    EXPECT(stream(bundle, LONG, [&] {
        kokoro_free(bundle);
        expect_closed(bundle);
        return 0;
    }) == KOKORO_CANCELLED);
    users.join();
    expect_closed(bundle);
}

// Two callbacks free the bundles of each other, at once.
void free_each_other() {
    for (int round = 0; round < ROUNDS; round++) {
        std::array<kokoro_bundle *, 2> bundles = {load(), load()};
        std::atomic<int> speaking{0};
        auto speak = [&](int own) {
            EXPECT(stream(bundles[own], LONG, [&, first = true]() mutable {
                if (!std::exchange(first, false)) return 0;
                speaking++;
                while (speaking < 2) std::this_thread::yield();
                kokoro_free(bundles[1 - own]);
                return 0;
            }) == KOKORO_CANCELLED);
        };
        std::thread thread(speak, 0);
        speak(1);
        thread.join();
        for (kokoro_bundle *each : bundles) expect_closed(each);
    }
}

// The process ends in the app's `std::terminate`, before the library's frames are unwound.
void throw_in_a_callback() { stream(load(), LONG, []() -> int { throw std::runtime_error("thrown"); }); }

int status_of(pid_t child) {
    int status;
    EXPECT(waitpid(child, &status, 0) == child);
    return status;
}

// A child reads and frees a bundle of its parent, whose threads it does not have, also in a callback.
void fork_while_threads_use_it() {
    kokoro_bundle *bundle = load();
    Users users(bundle);
    auto use = [&] {
        EXPECT(synthesise(bundle, SHORT) == KOKORO_FORK_ERROR && stream(bundle, SHORT) == KOKORO_FORK_ERROR);
        EXPECT(check(bundle, SPANISH) == KOKORO_FORK_ERROR && kokoro_voice_count(bundle) == 3);
        kokoro_cancel(bundle);
        kokoro_free(bundle);
        expect_closed(bundle);
    };
    for (int round = 0; round < 10 * ROUNDS; round++) {
        pid_t child = fork();
        if (!child) use(), _exit(0);
        EXPECT(status_of(child) == 0);
    }
    pid_t child = -1;
    kokoro_error code = stream(bundle, SHORT, [&] {
        if (child == -1) child = fork();
        return 0;
    });
    EXPECT(code == (child ? KOKORO_OK : KOKORO_FORK_ERROR));
    if (!child) use(), _exit(0);
    EXPECT(status_of(child) == 0);
    kokoro_free(bundle);
    users.join();
}

// Destructors at the end of a process run while other threads speak, and may do what an app may do at any time.
struct AtTheEnd {
    ~AtTheEnd() {
        if (!bundle) return;
        EXPECT(synthesise(bundle, SHORT) == KOKORO_OK && stream(bundle, SHORT) == KOKORO_OK);
        EXPECT(check(bundle, SPANISH) == KOKORO_UNKNOWN_PHONEMES_ERROR);
        kokoro_free(bundle);
        expect_closed(bundle);
    }
    kokoro_bundle *bundle = nullptr;
} at_the_end;
Users *volatile speaking;  // and still reachable

void exit_while_threads_use_it() {
    speaking = new Users(load());
    std::exit(0);
}

void exit_in_a_callback() {
    at_the_end.bundle = load();
    speaking = new Users(load());
    stream(at_the_end.bundle, LONG, []() -> int { std::exit(0); });
}

void return_from_main() {
    at_the_end.bundle = load();
    // What this thread keeps for text and for messages is gone before the destructor uses it.
    EXPECT(check(at_the_end.bundle, SPANISH) == KOKORO_UNKNOWN_PHONEMES_ERROR);
    speaking = new Users(at_the_end.bundle);
}

const std::map<std::string, void (*)()> SCENARIOS = {
    {"free", free_while_threads_use_it}, {"wait", free_waits},
    {"callbacks", act_in_callbacks},     {"cancel", cancel_while_text_is_read},
    {"each_other", free_each_other},     {"fork", fork_while_threads_use_it},
    {"exit", exit_while_threads_use_it}, {"exit_in_callback", exit_in_a_callback},
    {"return", return_from_main},        {"throw", throw_in_a_callback},
};

}  // namespace

int main(int, char **arguments) {
    directory = arguments[2];
    SCENARIOS.at(arguments[1])();
}
