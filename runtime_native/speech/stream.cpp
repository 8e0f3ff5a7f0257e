#include "stream.h"

#include <future>

namespace kokoro {

void stream(Speech &speech, const std::function<bool(const Audio &)> &take, const std::function<void()> &stop) {
    auto compute = [&] { return std::async(std::launch::async, [&] { return speech.next(); }); };
    auto ahead = compute();
    while (auto piece = ahead.get()) {
        ahead = compute();
        if (take(*piece)) continue;
        stop();
        ahead.wait();
        return;
    }
}

}  // namespace kokoro
