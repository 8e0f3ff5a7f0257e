/* Speaks with the engine that is linked in:
 *
 *     program once PHONEMES FILE ENGINE'S ARGUMENTS...    into a WAV file
 *     program lines ENGINE'S ARGUMENTS...                 each line of the standard input
 *
 * For each line it prints the seconds that it took and the number of samples, after a line when the engine is loaded.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "engine.h"

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int speak_lines(char **arguments) {
    char line[8192];
    if (!engine_load(arguments)) return 1;
    puts("loaded");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        double started = now();
        long samples = engine_speak(line);
        if (samples < 0) return 1;
        printf("%.9f %ld\n", now() - started, samples);
        fflush(stdout);
    }
    return 0;
}

int main(int count, char **arguments) {
    if (count > 2 && !strcmp(arguments[1], "lines")) return speak_lines(arguments + 2);
    if (count < 5 || strcmp(arguments[1], "once")) return 2;
    return !engine_load(arguments + 4) || engine_speak(arguments[2]) < 0 || !engine_write(arguments[3]);
}
