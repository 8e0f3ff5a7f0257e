// Prints what Linux's /proc/cpuinfo would say of this processor's features, as far as the CPU levels of
// x86-64 ask for them. qemu's user mode shows its processes the file of the machine that it runs on.
#include <cpuid.h>
#include <stdio.h>

enum { EAX, EBX, ECX, EDX };

static const struct {
    const char *name;
    unsigned leaf, word, bit;
} features[] = {
    {"fpu", 1, EDX, 1u << 0},
    {"sse2", 1, EDX, bit_SSE2},
    {"pni", 1, ECX, bit_SSE3},
    {"ssse3", 1, ECX, bit_SSSE3},
    {"fma", 1, ECX, bit_FMA},
    {"cx16", 1, ECX, bit_CMPXCHG16B},
    {"sse4_1", 1, ECX, bit_SSE4_1},
    {"sse4_2", 1, ECX, bit_SSE4_2},
    {"movbe", 1, ECX, bit_MOVBE},
    {"popcnt", 1, ECX, bit_POPCNT},
    {"xsave", 1, ECX, bit_XSAVE},
    {"avx", 1, ECX, bit_AVX},
    {"f16c", 1, ECX, bit_F16C},
    {"bmi1", 7, EBX, bit_BMI},
    {"avx2", 7, EBX, bit_AVX2},
    {"bmi2", 7, EBX, bit_BMI2},
    {"avx512f", 7, EBX, bit_AVX512F},
    {"avx512dq", 7, EBX, bit_AVX512DQ},
    {"avx512cd", 7, EBX, bit_AVX512CD},
    {"avx512bw", 7, EBX, bit_AVX512BW},
    {"avx512vl", 7, EBX, bit_AVX512VL},
    {"lahf_lm", 0x80000001, ECX, bit_LAHF_LM},
    {"abm", 0x80000001, ECX, bit_LZCNT},
};

int main(void) {
    printf("processor\t: 0\nflags\t\t:");
    for (unsigned i = 0; i < sizeof features / sizeof *features; i++) {
        unsigned words[4] = {0};
        // A leaf that the processor does not know leaves the words as they are: none of its features.
        __get_cpuid_count(features[i].leaf, 0, &words[EAX], &words[EBX], &words[ECX], &words[EDX]);
        if (words[features[i].word] & features[i].bit) printf(" %s", features[i].name);
    }
    printf("\n");
    return 0;
}
