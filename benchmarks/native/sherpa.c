/* Kokoro in sherpa-onnx. Arguments: the number of threads, the files of the model, its voices and its tokens. */
#include <sherpa-onnx/c-api/c-api.h>
#include <stdlib.h>

#include "engine.h"

enum { MOST_PHONEMES = 510 };

static const SherpaOnnxOfflineTts *engine;
static const SherpaOnnxGeneratedAudio *audio;

/* Reads one code point of UTF-8 that is known to be valid. */
static int32_t next_code_point(const unsigned char **text) {
    int32_t first = *(*text)++;
    int following = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    int32_t point = following ? first & (0x3f >> following) : first;
    while (following--) point = point << 6 | (*(*text)++ & 0x3f);
    return point;
}

int engine_load(char **arguments) {
    SherpaOnnxOfflineTtsConfig config = {0};
    config.model.kokoro.model = arguments[1];
    config.model.kokoro.voices = arguments[2];
    config.model.kokoro.tokens = arguments[3];
    config.model.kokoro.length_scale = 1;
    config.model.num_threads = atoi(arguments[0]);
    config.model.provider = "cpu";
    config.max_num_sentences = 1;
    config.silence_scale = 1;
    engine = SherpaOnnxCreateOfflineTts(&config);
    return engine != NULL;
}

long engine_speak(const char *phonemes) {
    int32_t points[MOST_PHONEMES], count = 0;
    const unsigned char *rest = (const unsigned char *)phonemes;
    while (*rest && count < MOST_PHONEMES) points[count++] = next_code_point(&rest);
    SherpaOnnxGenerationConfig request = {0};
    request.silence_scale = 1;
    request.speed = 1;
    request.phoneme_codepoints = points;
    request.phoneme_codepoints_lens = &count;
    request.phoneme_codepoints_num_sentences = 1;
    if (audio) SherpaOnnxDestroyOfflineTtsGeneratedAudio(audio);
    audio = SherpaOnnxOfflineTtsGenerateWithConfig(engine, "", &request, NULL, NULL);
    return audio ? audio->n : -1;
}

int engine_write(const char *path) {
    return SherpaOnnxWriteWave(audio->samples, audio->n, audio->sample_rate, path);
}
