/* An engine that program.c drives. */
#ifndef ENGINE_H_
#define ENGINE_H_

/* Loads the engine from the arguments of the command line that follow those of program.c; returns 0 if it cannot. */
int engine_load(char **arguments);
/* Speaks phonemes and keeps the samples until the next call; returns their number, or -1 if it cannot. */
long engine_speak(const char *phonemes);
/* Writes the last samples to a WAV file of 16 bits; returns 0 if it cannot. */
int engine_write(const char *path);

#endif
