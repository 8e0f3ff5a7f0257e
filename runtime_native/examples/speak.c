/* Speaks a stream of phonemes into a WAV file, piece by piece:
 *
 *     cc -I BUNDLE/native speak.c BUNDLE/native/libkokoro.so -lm -o speak && ./speak BUNDLE PHONEMES hello.wav
 */
#include <math.h>
#include <stdio.h>

#include "kokoro.h"

typedef struct wav_header {
    char riff[4];
    uint32_t size;
    char wave_format[8];
    uint32_t format_size;
    uint16_t pcm, channels;
    uint32_t sample_rate, bytes_per_second;
    uint16_t bytes_per_sample, bits;
    char data[4];
    uint32_t data_size;
} wav_header;

static int write_header(FILE *file, uint32_t bytes) {
    const wav_header header = {"RIFF", 36 + bytes, "WAVEfmt ", 16, 1, 1, 24000, 48000, 2, 16, "data", bytes};
    rewind(file);
    return fwrite(&header, sizeof header, 1, file) == 1;
}

static int write_piece(const kokoro_audio *piece, void *user) {
    FILE *file = user;
    for (size_t index = 0; index < piece->sample_count; index++) {
        int16_t sample = (int16_t)lrintf(fmaxf(-1, fminf(1, piece->samples[index])) * 32767);
        if (fwrite(&sample, sizeof sample, 1, file) != 1) return 1;
    }
    printf("from %.2f s on: %s\n", piece->start, piece->phonemes);
    return 0;
}

int main(int count, char **arguments) {
    if (count != 4) return fprintf(stderr, "usage: %s BUNDLE PHONEMES FILE\n", arguments[0]), 2;
    kokoro_request request = {0};
    request.size = sizeof request;
    request.input = arguments[2];
    kokoro_bundle *bundle = NULL;
    FILE *file = fopen(arguments[3], "wb+");
    if (!file || !write_header(file, 0)) return perror(arguments[3]), 1;
    kokoro_error error = kokoro_load(arguments[1], NULL, &bundle);
    if (!error) error = kokoro_stream(bundle, &request, write_piece, file);
    if (error) fprintf(stderr, "%s\n", kokoro_last_error());
    long bytes = ftell(file) - (long)sizeof(wav_header);
    int written = write_header(file, (uint32_t)bytes) && fclose(file) == 0;
    kokoro_free(bundle);
    return error || !written;
}
