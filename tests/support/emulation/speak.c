// Speaks, as an app does, what its arguments ask for: speak BUNDLE THREADS (MODE VOICE SPEED SEED INPUT)...
//
// MODE is text, phonemes or stream. The variable ARITHMETIC names that of the decoder; the CPU level that it was given is
// then written to standard error. With FLUSH_SUBNORMALS the program takes subnormal numbers for zeros. The samples are
// written to standard output, after their number.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kokoro.h"

enum { ARGUMENTS = 5, MOST_SAMPLES = 1 << 24 };

static float samples[MOST_SAMPLES];
static uint64_t count;

static const uint64_t ZEROS = 1 << 24;  // in the register of the processor's floating-point mode

static uint64_t mode(void) {
    uint64_t found;
    __asm__ volatile("mrs %0, fpcr" : "=r"(found));
    return found;
}

static int take(const kokoro_audio *audio, void *user) {
    (void)user;
    if (count + audio->sample_count > MOST_SAMPLES) return 1;
    memcpy(samples + count, audio->samples, audio->sample_count * sizeof *samples);
    count += audio->sample_count;
    return 0;
}

static int fail(void) {
    fprintf(stderr, "%s\n", kokoro_last_error());
    return 1;
}

static int speak(kokoro_bundle *bundle, char **arguments) {
    const char *mode = arguments[0];
    kokoro_request request = {0};
    request.size = sizeof request;
    request.voice = arguments[1];
    request.speed = atof(arguments[2]);
    request.seed = strtoull(arguments[3], NULL, 10);
    if (strcmp(mode, "text")) request.phonemes = arguments[4];
    else request.text = arguments[4];
    count = 0;
    if (!strcmp(mode, "stream")) return kokoro_stream(bundle, &request, take, NULL);
    kokoro_audio *audio;
    kokoro_error error = kokoro_synthesize(bundle, &request, &audio);
    if (!error) {
        take(audio, NULL);
        kokoro_audio_free(audio);
    }
    return error;
}

int main(int length, char **arguments) {
    kokoro_options options = {0};
    options.size = sizeof options;
    options.threads = atoi(arguments[2]);
    options.arithmetic = getenv("ARITHMETIC");
    kokoro_bundle *bundle;
    if (getenv("FLUSH_SUBNORMALS")) __asm__ volatile("msr fpcr, %0" : : "r"(ZEROS));
    uint64_t before = mode();
    if (kokoro_load(arguments[1], &options, &bundle)) return fail();
    if (options.arithmetic) fprintf(stderr, "%s\n", kokoro_level(bundle));
    for (int at = 3; at + ARGUMENTS <= length; at += ARGUMENTS) {
        if (speak(bundle, arguments + at)) return fail();
        if (mode() != before) return 3;
        fwrite(&count, sizeof count, 1, stdout);
        fwrite(samples, sizeof *samples, count, stdout);
    }
    kokoro_free(bundle);
    return 0;
}
