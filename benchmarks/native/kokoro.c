/* A bundle in libkokoro. Arguments: the number of threads, the bundle, the CPU level, the voice. */
#include "kokoro.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine.h"

static kokoro_bundle *bundle;
static kokoro_audio *audio;
static const char *voice;

static int failed(kokoro_error error) {
    if (error) fprintf(stderr, "%s\n", kokoro_last_error());
    return error != KOKORO_OK;
}

int engine_load(char **arguments) {
    kokoro_options options = {0};
    options.size = sizeof options;
    options.level = arguments[2];
    options.threads = atoi(arguments[0]);
    voice = arguments[3];
    return !failed(kokoro_load(arguments[1], &options, &bundle));
}

long engine_speak(const char *phonemes) {
    kokoro_request request = {0};
    request.size = sizeof request;
    request.phonemes = phonemes;
    request.voice = voice;
    kokoro_audio_free(audio);
    audio = NULL;
    return failed(kokoro_synthesize(bundle, &request, &audio)) ? -1 : (long)audio->sample_count;
}

int engine_write(const char *path) { return !failed(kokoro_write_wav(audio, path)); }
