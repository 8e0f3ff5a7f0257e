// The floating-point mode in which a bundle computes.
#pragma once

#include <cfenv>

namespace kokoro {

// Rounds to nearest and keeps subnormal numbers, whatever the app has set, until the end of the scope. A thread that
// is started within the scope keeps this mode.
class FloatingPointMode {
public:
    FloatingPointMode() {
        std::fegetenv(&before_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~FloatingPointMode() { std::fesetenv(&before_); }
    FloatingPointMode(const FloatingPointMode &) = delete;
    FloatingPointMode &operator=(const FloatingPointMode &) = delete;

private:
    std::fenv_t before_;
};

}  // namespace kokoro
