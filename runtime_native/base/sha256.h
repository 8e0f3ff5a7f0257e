// SHA-256 (FIPS 180-4), by the processor's own instructions where it has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kokoro {

class Sha256 {
public:
    enum class Path { SCALAR, INSTRUCTIONS };

    // Takes a path in place of the best that the processor has; for tests.
    explicit Sha256(Path path = best_path());

    void add(const void *data, size_t size);
    // Returns the digest in lower-case hexadecimal. Nothing can be added afterwards.
    std::string digest();

    static Path best_path();

private:
    using Compress = void (*)(uint32_t *state, const unsigned char *blocks, size_t count);

    Compress compress_;
    uint32_t state_[8];
    uint64_t bytes_ = 0;
    unsigned char buffer_[64];
};

std::string sha256_of(std::string_view data);

}  // namespace kokoro
