// The lead of a stream: how early its pieces come, and how to begin late enough that none comes too late.
#pragma once

#include <optional>
#include <vector>

#include "speak.h"

namespace kokoro {

// A listener who begins with the first piece and hears each as soon as it is there and the last is over.
class Player {
public:
    // Returns the seconds by which a piece of so many seconds comes before the ones before it are over.
    double take(double seconds);

private:
    std::optional<double> end_;
};

// Returns as one piece what must be there before playing can begin, or none of a speech without pieces.
std::optional<Audio> steady_start(Speech &speech);

// Returns whether each piece is there before the ones before it are over, with `lead` seconds of audio that are there.
// `lengths` has the phonemes of the pieces that follow, each heard and computed in so many seconds.
bool lasts(double lead, const std::vector<size_t> &lengths, double heard, double computed);

}  // namespace kokoro
