/* Speaks text into a WAV file, piece by piece. The program finds the library where it is now:
 *
 *     cc -I BUNDLE/native speak.c BUNDLE/native/libkokoro.so -Wl,-rpath,BUNDLE/native -lm -o speak
 *     ./speak BUNDLE "Hello, world!" hello.wav
 */
#include <math.h>
#include <stdio.h>

#include "kokoro.h"

enum { HEADER = 44 };

/* For processors whose numbers begin with their lowest byte, as files of WAV do. */
static int write_header(FILE *file, uint32_t bytes) {
    const uint32_t mono_pcm = 0x00010001, rate = 24000, sixteen_bits = 0x00100002;
    const uint32_t format[] = {16, mono_pcm, rate, 2 * rate, sixteen_bits}, size = HEADER - 8 + bytes;
    rewind(file);
    return fwrite("RIFF", 4, 1, file) && fwrite(&size, 4, 1, file) && fwrite("WAVEfmt ", 8, 1, file) &&
           fwrite(format, sizeof format, 1, file) && fwrite("data", 4, 1, file) && fwrite(&bytes, 4, 1, file);
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
    if (count != 4) return fprintf(stderr, "usage: %s BUNDLE TEXT FILE\n", arguments[0]), 2;
    kokoro_request request = {0};
    request.size = sizeof request;
    request.text = arguments[2];
    kokoro_bundle *bundle = NULL;
    if (kokoro_load(arguments[1], NULL, &bundle) || kokoro_check(bundle, &request))
        return fprintf(stderr, "%s\n", kokoro_last_error()), 1;
    FILE *file = fopen(arguments[3], "wb+");
    if (!file || !write_header(file, 0)) return perror(arguments[3]), 1;
    kokoro_error error = kokoro_stream(bundle, &request, write_piece, file);
    if (error) fprintf(stderr, "%s\n", kokoro_last_error());
    long bytes = ftell(file) - HEADER;
    int written = write_header(file, (uint32_t)bytes) && fclose(file) == 0;
    kokoro_free(bundle);
    if (error || !written) remove(arguments[3]);
    return error || !written;
}
