// The functions of the C interface for a text that arrives bit by bit.
#include <atomic>
#include <memory>
#include <utility>

#include "bundle.h"
#include "handles.h"
#include "interface.h"
#include "live.h"
#include "speech/stream.h"

using namespace kokoro;

namespace {

// Throws USAGE_ERROR for a request that needs a whole text.
void require_live(const kokoro_request &given) {
    if (given.text || given.phonemes)
        throw Error(KOKORO_USAGE_ERROR, "The text of this speech is pushed: leave 'text' and 'phonemes' NULL.");
    const char *whole = given.ssml ? "ssml" : given.steady ? "steady" : given.one_pass ? "one_pass" : nullptr;
    if (whole) throw Error(KOKORO_USAGE_ERROR, std::string("The option ") + whole + " needs a whole text: leave it out.");
}

std::unique_ptr<LiveSpeech> speech_of(const Lease &lease, const kokoro_request *request) {
    const kokoro_request given = known_request(request);
    require_live(given);
    Bundle &bundle = lease.speaker();
    bundle.require_all_stages();
    Request asked = asked_for(given, false);
    Planner planner(bundle.capabilities(), false);
    planner.check_manner(asked);
    const TextInput manner{{}, false, given.skip_emoji != 0, text_of(given.language, "language")};
    BundledText::G2p g2p = bundle.g2p_of(manner, asked.voice);
    // A call with a lease computes, so the bundle is there.
    auto prepare = [&bundle](const Utterance &utterance, const CancelCheck &check) {
        return bundle.prepare(utterance, check);
    };
    return std::make_unique<LiveSpeech>(std::move(asked), std::move(g2p), std::move(planner), prepare);
}

// Does something with the speech of a handle while its bundle is there.
template <class Function>
kokoro_error with_live(const kokoro_live *handle, Function function) {
    return guarded([&] {
        std::shared_ptr<OpenedLive> live = find_live(handle);
        Lease lease(live->bundle);
        lease.speaker();
        function(*live, lease);
    });
}

void take_pieces(OpenedLive &live, const Lease &lease, bool wait, kokoro_callback callback, void *user) {
    OpenedLive::Turn turn(live);
    LiveSpeech &speech = *live.speech;
    std::atomic<bool> stopped{false};
    auto check = [&stopped, &live, cancelled = lease.cancel_check()] {
        cancelled();
        live.check();
        if (stopped) throw Error(KOKORO_CANCELLED, "The callback stopped the speech before its end.");
    };
    auto take = [&](const Audio &piece) {
        check();
        OwnedAudio given(piece);
        given.lead = speech.player.take(double(given.sample_count) / given.sample_rate);
        return call(callback, &given, user) == 0;
    };
    try {
        stream([&] { return speech.next(check, wait); }, take, [&] { stopped = true; });
        check();
    } catch (...) {
        speech.abandon();
        throw;
    }
}

}  // namespace

extern "C" {

kokoro_error kokoro_live_open(kokoro_bundle *bundle, const kokoro_request *request, kokoro_live **live) {
    return guarded([&] {
        Lease lease(bundle);
        require(live, "live");
        *live = nullptr;
        *live = open_live(std::make_shared<OpenedLive>(bundle, speech_of(lease, request)));
    });
}

kokoro_error kokoro_live_push(kokoro_live *live, const char *text) {
    return with_live(live, [&](OpenedLive &opened, const Lease &) {
        require(text, "text");
        opened.speech->push(text);
    });
}

kokoro_error kokoro_live_flush(kokoro_live *live) {
    return with_live(live, [](OpenedLive &opened, const Lease &) { opened.speech->flush(); });
}

kokoro_error kokoro_live_end(kokoro_live *live) {
    return with_live(live, [](OpenedLive &opened, const Lease &) { opened.speech->end(); });
}

kokoro_error kokoro_live_stream(kokoro_live *live, int wait, kokoro_callback callback, void *user) {
    return with_live(live, [&](OpenedLive &opened, const Lease &lease) {
        require(callback != nullptr, "callback");
        take_pieces(opened, lease, wait != 0, callback, user);
    });
}

void kokoro_live_free(kokoro_live *live) {
    guarded([&] {
        if (std::shared_ptr<OpenedLive> opened = take_live(live)) opened->close();
    });
}

}  // extern "C"
