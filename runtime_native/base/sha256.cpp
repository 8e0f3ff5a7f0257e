#include "sha256.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#endif

namespace kokoro {

namespace {

alignas(64) constexpr uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

inline uint32_t rotated(uint32_t x, int by) { return x >> by | x << (32 - by); }

// One round: the caller exchanges the names of the eight words in place of their values.
#define ROUND(a, b, c, d, e, f, g, h, i)                                                              \
    do {                                                                                              \
        uint32_t sum = h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + (g ^ (e & (f ^ g))) +  \
                       K[i] + w[(i) & 15];                                                            \
        d += sum;                                                                                     \
        h = sum + (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) | (c & (a | b)));      \
    } while (0)

void compress_scalar(uint32_t *state, const unsigned char *blocks, size_t count) {
    for (; count; count--, blocks += 64) {
        uint32_t w[16];
        for (int i = 0; i < 16; i++) {
            std::memcpy(&w[i], blocks + 4 * i, 4);
            w[i] = __builtin_bswap32(w[i]);
        }
        uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
        uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
        for (int i = 0; i < 64; i += 8) {
            if (i >= 16) {
                for (int j = i; j < i + 8; j++) {
                    uint32_t x = w[(j + 1) & 15], y = w[(j + 14) & 15];
                    w[j & 15] += (rotated(x, 7) ^ rotated(x, 18) ^ x >> 3) + w[(j + 9) & 15] +
                                 (rotated(y, 17) ^ rotated(y, 19) ^ y >> 10);
                }
            }
            ROUND(a, b, c, d, e, f, g, h, i);
            ROUND(h, a, b, c, d, e, f, g, i + 1);
            ROUND(g, h, a, b, c, d, e, f, i + 2);
            ROUND(f, g, h, a, b, c, d, e, i + 3);
            ROUND(e, f, g, h, a, b, c, d, i + 4);
            ROUND(d, e, f, g, h, a, b, c, i + 5);
            ROUND(c, d, e, f, g, h, a, b, i + 6);
            ROUND(b, c, d, e, f, g, h, a, i + 7);
        }
        const uint32_t sums[8] = {a, b, c, d, e, f, g, h};
        for (int i = 0; i < 8; i++) state[i] += sums[i];
    }
}

#undef ROUND

#if defined(__x86_64__)

bool has_instructions() {
    unsigned a, b, c, d;
    bool simd = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSSE3) && (c & bit_SSE4_1);
    return simd && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}

__attribute__((target("sha,sse4.1,ssse3"))) void compress_by_instructions(
    uint32_t *state, const unsigned char *blocks, size_t count) {
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bULL, 0x0405060700010203ULL);
    const __m128i *k = reinterpret_cast<const __m128i *>(K);
    // The instructions take the words as (a, b, e, f) and (c, d, g, h), the last one lowest.
    __m128i low = _mm_shuffle_epi32(_mm_loadu_si128(reinterpret_cast<__m128i *>(state)), 0xB1);
    __m128i high = _mm_shuffle_epi32(_mm_loadu_si128(reinterpret_cast<__m128i *>(state + 4)), 0x1B);
    __m128i abef = _mm_alignr_epi8(low, high, 8);
    __m128i cdgh = _mm_blend_epi16(high, low, 0xF0);
    for (; count; count--, blocks += 64) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        __m128i w[4];
        for (int i = 0; i < 16; i++) {
            if (i < 4) {
                w[i] = _mm_loadu_si128(reinterpret_cast<const __m128i *>(blocks + 16 * i));
                w[i] = _mm_shuffle_epi8(w[i], swap);
            } else {
                __m128i sum = _mm_sha256msg1_epu32(w[i & 3], w[(i + 1) & 3]);
                sum = _mm_add_epi32(sum, _mm_alignr_epi8(w[(i + 3) & 3], w[(i + 2) & 3], 4));
                w[i & 3] = _mm_sha256msg2_epu32(sum, w[(i + 3) & 3]);
            }
            __m128i words = _mm_add_epi32(w[i & 3], k[i]);
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, words);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(words, 0x0E));
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    low = _mm_shuffle_epi32(abef, 0x1B);
    high = _mm_shuffle_epi32(cdgh, 0xB1);
    _mm_storeu_si128(reinterpret_cast<__m128i *>(state), _mm_blend_epi16(low, high, 0xF0));
    _mm_storeu_si128(reinterpret_cast<__m128i *>(state + 4), _mm_alignr_epi8(high, low, 8));
}

#elif defined(__aarch64__)

bool has_instructions() {
#if defined(__linux__)
    return getauxval(AT_HWCAP) & HWCAP_SHA2;
#else
    return true;  // every processor of Apple's with 64 bits
#endif
}

__attribute__((target("sha2"))) void compress_by_instructions(
    uint32_t *state, const unsigned char *blocks, size_t count) {
    uint32x4_t abcd = vld1q_u32(state), efgh = vld1q_u32(state + 4);
    for (; count; count--, blocks += 64) {
        const uint32x4_t abcd_before = abcd, efgh_before = efgh;
        uint32x4_t w[4];
        for (int i = 0; i < 16; i++) {
            if (i < 4) {
                w[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(blocks + 16 * i)));
            } else {
                uint32x4_t sum = vsha256su0q_u32(w[i & 3], w[(i + 1) & 3]);
                w[i & 3] = vsha256su1q_u32(sum, w[(i + 2) & 3], w[(i + 3) & 3]);
            }
            uint32x4_t words = vaddq_u32(w[i & 3], vld1q_u32(K + 4 * i)), before = abcd;
            abcd = vsha256hq_u32(abcd, efgh, words);
            efgh = vsha256h2q_u32(efgh, before, words);
        }
        abcd = vaddq_u32(abcd, abcd_before);
        efgh = vaddq_u32(efgh, efgh_before);
    }
    vst1q_u32(state, abcd);
    vst1q_u32(state + 4, efgh);
}

#else

bool has_instructions() { return false; }
constexpr auto compress_by_instructions = compress_scalar;

#endif

}  // namespace

Sha256::Path Sha256::best_path() {
    static const Path best = has_instructions() ? Path::INSTRUCTIONS : Path::SCALAR;
    return best;
}

Sha256::Sha256(Path path)
    : compress_(path == Path::SCALAR ? compress_scalar : compress_by_instructions),
      state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {}

void Sha256::add(const void *data, size_t size) {
    auto bytes = static_cast<const unsigned char *>(data);
    size_t held = bytes_ % 64;
    bytes_ += size;
    if (held) {
        size_t more = std::min(64 - held, size);
        std::memcpy(buffer_ + held, bytes, more);
        if (held + more < 64) return;
        compress_(state_, buffer_, 1);
        bytes += more;
        size -= more;
    }
    compress_(state_, bytes, size / 64);
    if (size % 64) std::memcpy(buffer_, bytes + size / 64 * 64, size % 64);
}

std::string Sha256::digest() {
    uint64_t bits = __builtin_bswap64(8 * bytes_);
    unsigned char end[72] = {0x80};
    size_t padding = 1 + (119 - bytes_ % 64) % 64;
    std::memcpy(end + padding, &bits, 8);
    add(end, padding + 8);
    std::string hexadecimal;
    for (uint32_t word : state_) {
        for (int shift = 28; shift >= 0; shift -= 4) hexadecimal += "0123456789abcdef"[word >> shift & 15];
    }
    return hexadecimal;
}

std::string sha256_of(std::string_view data) {
    Sha256 hash;
    hash.add(data.data(), data.size());
    return hash.digest();
}

}  // namespace kokoro
