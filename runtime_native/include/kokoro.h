/* kokoro.h: speech from a kokoro-bundle (bundles/FORMAT.md). C99, one shared library, no Python.
 *
 *     kokoro_bundle *bundle;
 *     if (kokoro_load("kokoro", NULL, &bundle)) return fprintf(stderr, "%s\n", kokoro_last_error());
 *     kokoro_request request = {0};
 *     request.size = sizeof request;
 *     request.text = "Hello, world!";
 *     kokoro_audio *audio;
 *     if (!kokoro_synthesize(bundle, &request, &audio)) {
 *         kokoro_write_wav(audio, "hello.wav");
 *         kokoro_audio_free(audio);
 *     }
 *     kokoro_free(bundle);
 *
 * Strings:  UTF-8, with a zero byte at the end.
 * Structs:  one that you fill begins with its size: set all of it to zero, then `size`, then the fields that you need.
 *           Zero is the default of every field.
 * Threads:  every function may be called from any thread. Calls on one bundle take turns.
 * Memory:   a bundle and an audio belong to the caller, who frees them. What they point to lives as long as they do.
 *           No function keeps a pointer that it was given. A kokoro_bundle * is a handle and no address: a function that
 *           gets one that was freed returns KOKORO_CLOSED_BUNDLE_ERROR, NULL or 0.
 * The end:  a process may end, and its destructors may call any function, while other threads speak. After fork, a
 *           child can read and free a bundle of its parent; other calls on it return KOKORO_FORK_ERROR.
 * Errors:   a function that can fail returns a kokoro_error. `kokoro_last_error` describes the last failure on the
 *           calling thread. No C++ exception leaves the library, and it never ends the process.
 * Versions: an app may be compiled with an older or a newer header than that of its library. New fields come last: the
 *           library takes fields that an older struct lacks as zero, and refuses a newer struct only if a field that it
 *           does not know is not zero.
 */
#ifndef KOKORO_H_
#define KOKORO_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32) && defined(KOKORO_BUILD)
#define KOKORO_API __declspec(dllexport)
#elif defined(_WIN32)
#define KOKORO_API __declspec(dllimport)
#else
#define KOKORO_API __attribute__((visibility("default")))
#endif

/* The hundreds give the kind of an error, which is enough for most apps. The names are those of Python's errors. */
typedef enum kokoro_error {
    KOKORO_OK = 0,

    KOKORO_INTERNAL_ERROR = 100, /* a defect of this library */
    KOKORO_EXECUTION_ERROR = 101, /* a compiled library failed while it ran */
    KOKORO_CANCELLED = 102, /* kokoro_cancel was called, or the callback asked to stop */

    KOKORO_USAGE_ERROR = 200, /* 2xx: an argument is wrong */
    KOKORO_ARGUMENT_TYPE_ERROR = 201, /* a null pointer, a struct without its size, or a field that is not known */
    KOKORO_UNKNOWN_VOICE_ERROR = 202,
    KOKORO_SPEED_ERROR = 203,
    KOKORO_THREADS_ERROR = 204,
    KOKORO_BLEND_ERROR = 205,
    KOKORO_PAUSE_ERROR = 206,
    KOKORO_LANGUAGE_ERROR = 207,
    KOKORO_CLOSED_BUNDLE_ERROR = 208, /* the bundle was freed, or the pointer is none that kokoro_load has set */
    KOKORO_LOUDNESS_ERROR = 209,
    KOKORO_STREAM_CLOSED_ERROR = 210, /* the speech was freed, or the pointer is none that kokoro_live_open has set */

    KOKORO_INPUT_ERROR = 300, /* 3xx: the input cannot be spoken */
    KOKORO_EMPTY_INPUT_ERROR = 301,
    KOKORO_UNKNOWN_PHONEMES_ERROR = 302,
    KOKORO_TOO_MANY_PHONEMES_ERROR = 303,
    KOKORO_UTTERANCE_TOO_LONG_ERROR = 304,
    KOKORO_MARKUP_ERROR = 305,
    KOKORO_VOICE_LANGUAGE_ERROR = 306,
    KOKORO_NO_TEXT_ERROR = 307,
    KOKORO_TEXT_ENCODING_ERROR = 308, /* not UTF-8 */
    KOKORO_MISSING_STAGES_ERROR = 309,
    KOKORO_NO_LOUDNESS_ERROR = 310, /* the bundle does not have that of the voice */

    KOKORO_BUNDLE_ERROR = 400, /* 4xx: the bundle is incomplete, damaged or not a bundle */
    KOKORO_MISSING_FILE_ERROR = 401,
    KOKORO_UNREADABLE_FILE_ERROR = 402,
    KOKORO_DAMAGED_FILE_ERROR = 403,
    KOKORO_CHANGED_FILE_ERROR = 404,
    KOKORO_NOT_REGULAR_FILE_ERROR = 405,
    KOKORO_MSGPACK_ERROR = 406,
    KOKORO_MANIFEST_ERROR = 407,
    KOKORO_FORMAT_VERSION_ERROR = 408,
    KOKORO_REQUIREMENT_ERROR = 409,
    KOKORO_MANIFEST_DIGEST_ERROR = 410,
    KOKORO_MODEL_OUTPUT_ERROR = 411,
    KOKORO_TEXT_DATA_ERROR = 412,
    KOKORO_SCALES_ERROR = 413, /* a scale of weights is not a positive number */

    KOKORO_MACHINE_ERROR = 500, /* 5xx: the bundle is for another machine, or this one lacks something */
    KOKORO_PLATFORM_ERROR = 501,
    KOKORO_CPU_LEVEL_ERROR = 502,
    KOKORO_UNKNOWN_PROCESSOR_ERROR = 503,
    KOKORO_TVM_VERSION_ERROR = 504,
    KOKORO_LIBRARY_LOAD_ERROR = 505,
    KOKORO_DEVICE_ERROR = 506,
    KOKORO_RESOURCE_ERROR = 507, /* too little memory, or no file or thread left */
    KOKORO_FORK_ERROR = 508,

    KOKORO_OUTPUT_ERROR = 600 /* a file could not be written */
} kokoro_error;

/* Returns the version of this library, such as "0.1.0". */
KOKORO_API const char *kokoro_version(void);

/* Returns what was expected, what was found and what to do. Valid until the next failure on this thread. */
KOKORO_API const char *kokoro_last_error(void);

/* ---- Bundles ---- */

typedef struct kokoro_bundle kokoro_bundle;

typedef struct kokoro_options {
    size_t size; /* sizeof(kokoro_options) */
    int threads; /* number of threads; 0: TVM_NUM_THREADS, or else all cores of this process */
    int skip_verify; /* not 0: compare libraries and voices as they are read, and nothing else */
    const char *level; /* the only CPU level to use; NULL: the best of this processor */
    const char *manifest_sha256; /* digest that the manifest must have: pins this very bundle */
    const char *arithmetic; /* in place of `level`: arithmetic of the decoder, such as "bfloat16", if the bundle has it;
                               float32 takes its place where the processor lacks it. NULL: float32 */
} kokoro_options;

/* Verifies and loads the bundle in a directory. `options` may be NULL. */
KOKORO_API kokoro_error kokoro_load(const char *directory, const kokoro_options *options, kokoro_bundle **bundle);
/* Cancels what is running, waits for it, and frees the bundle. Of calls at the same moment, one frees it and all wait.
 * A callback may free any bundle: there the function does not wait, and the bundle is freed when the last call on it
 * returns. NULL and a bundle that was freed are allowed. */
KOKORO_API void kokoro_free(kokoro_bundle *bundle);

/* Functions that read a bundle return NULL or 0 if it was freed; the strings live until then. */
KOKORO_API const char *kokoro_model_name(const kokoro_bundle *bundle);
/* Returns 1 if the weights are random and the bundle babbles; an app then tells its user. */
KOKORO_API int kokoro_is_synthetic(const kokoro_bundle *bundle);
/* Returns the CPU level in use. */
KOKORO_API const char *kokoro_level(const kokoro_bundle *bundle);
/* Returns the most phonemes that are spoken at once; longer input is split. */
KOKORO_API size_t kokoro_max_phonemes(const kokoro_bundle *bundle);
KOKORO_API size_t kokoro_voice_count(const kokoro_bundle *bundle);
/* Returns NULL if there is no voice of this index. */
KOKORO_API const char *kokoro_voice_name(const kokoro_bundle *bundle, size_t index);

/* ---- Speech ---- */

typedef struct kokoro_request {
    size_t size; /* sizeof(kokoro_request) */
    const char *text; /* text in English, Spanish or Italian, of any length; NULL if there are phonemes */
    const char *phonemes; /* phonemes of any length; NULL if there is text */
    const char *voice; /* a name, or a blend such as "af_heart*0.7+am_adam*0.3"; NULL: "af_heart" */
    double speed; /* 0.25 to 4; 0 means 1 */
    uint64_t seed; /* of the noise in unvoiced sounds; equal seeds give equal samples */
    int ssml; /* not 0: the text is an SSML document */
    int skip_emoji; /* not 0: leave emoji out of English text */
    int trim; /* 1: shorten the silence at the beginning to at most 0.05 s, and make that at the end `end_pause`;
               * -1: leave it as the model makes it; 0: shorten it in kokoro_stream alone */
    int steady; /* not 0: kokoro_stream begins late enough that a slow machine makes no gaps */
    const char *language; /* of the text, such as "en-us" or "es_MX"; NULL or empty: that of the voice */
    double sentence_pause; /* seconds of silence to add after each sentence but the last, 0 to 60 */
    double clause_pause; /* the same after clauses that do not end a sentence */
    double end_pause; /* seconds of silence at the end where it is trimmed; 0 means 0.3, and a negative number none */
    double loudness; /* LUFS to which a fixed gain brings each voice, such as -18; 0: the level of the model */
    int no_stretch; /* not 0: leave speeds to the model, as kokoro does */
    int one_pass; /* not 0: kokoro_stream divides what it speaks no further than kokoro_synthesize */
} kokoro_request;

/* Later versions add no fields. */
typedef struct kokoro_timing {
    const char *text; /* a phoneme, or a word as the reader sees it */
    double start, end; /* seconds from the beginning of the whole speech */
} kokoro_timing;

/* Only the library makes one. Later versions may add fields at the end. */
typedef struct kokoro_audio {
    const float *samples; /* mono, full scale is 1, not clipped */
    size_t sample_count;
    int sample_rate; /* 24000 */
    double start; /* seconds from the beginning of the whole speech, in pieces of a stream */
    const char *phonemes; /* all that is spoken */
    const kokoro_timing *tokens; /* one for each phoneme */
    size_t token_count;
    const kokoro_timing *words; /* of text */
    size_t word_count;
    const int64_t *durations; /* frames of 600 samples of each token, boundaries included; rounded in stretched speech */
    size_t duration_count;
    double lead; /* seconds by which a piece came before those before it were over; below 0: a gap of so many seconds */
} kokoro_audio;

/* Receives a piece of a stream, which lives until the callback returns. Not 0 stops the stream. The callback may call
 * every function, also on the same bundle. It must return: an exception that leaves it ends the process (std::terminate),
 * and no longjmp or end of the thread may. It must not wait for a thread that frees the bundle. */
typedef int (*kokoro_callback)(const kokoro_audio *piece, void *user);

/* Returns the error that kokoro_synthesize would return before it computes. */
KOKORO_API kokoro_error kokoro_check(kokoro_bundle *bundle, const kokoro_request *request);
/* Speaks the whole input. */
KOKORO_API kokoro_error kokoro_synthesize(kokoro_bundle *bundle, const kokoro_request *request, kokoro_audio **audio);
/* Speaks piece by piece: the first is a clause or a few words, later ones grow. Returns after the last piece. */
KOKORO_API kokoro_error kokoro_stream(
    kokoro_bundle *bundle, const kokoro_request *request, kokoro_callback callback, void *user);

/* A speech whose pieces are computed when they are taken, on the thread that takes them: for servers, which decide whose
 * piece is next, and for programs of one thread. One thread at a time may use it. */
typedef struct kokoro_pieces kokoro_pieces;
/* Opens a speech of the pieces of kokoro_stream, without `steady`; it sees to the first part of the text. */
KOKORO_API kokoro_error kokoro_pieces_open(
    kokoro_bundle *bundle, const kokoro_request *request, kokoro_pieces **pieces);
/* Sets `audio` to the next piece, and to NULL after the last one. After an error only kokoro_pieces_free may follow. */
KOKORO_API kokoro_error kokoro_pieces_next(kokoro_pieces *pieces, kokoro_audio **audio);
/* NULL is allowed. The bundle may have been freed. */
KOKORO_API void kokoro_pieces_free(kokoro_pieces *pieces);

/* Ends all calls on the bundle that are running or waiting, with KOKORO_CANCELLED, after the stage that is computed or the
 * part of the text that is read. A handler of a signal must not call it. */
KOKORO_API void kokoro_cancel(kokoro_bundle *bundle);
/* ---- Speech of a text that arrives bit by bit, such as the tokens of a language model ---- */

/* A handle, as that of a bundle. When the bundle is freed, functions return KOKORO_CLOSED_BUNDLE_ERROR. */
typedef struct kokoro_live kokoro_live;

/* Opens a speech whose text is pushed. The request has neither text nor phonemes, and not `ssml`, `steady` and
 * `one_pass`, which need a whole text; its other fields are those of kokoro_stream. */
KOKORO_API kokoro_error kokoro_live_open(kokoro_bundle *bundle, const kokoro_request *request, kokoro_live **live);
/* Takes the next part of the text, cut anywhere, also within a character of UTF-8. Computes nothing. A sentence, or the
 * first clause, is spoken when the word after it shows that it is complete. Wherever a text is cut, its pieces are the
 * same. */
KOKORO_API kokoro_error kokoro_live_push(kokoro_live *live, const char *text);
/* Has all that is there spoken, although its sentence may go on. */
KOKORO_API kokoro_error kokoro_live_flush(kokoro_live *live);
/* Ends the text: what is there is the end of the speech. */
KOKORO_API kokoro_error kokoro_live_end(kokoro_live *live);
/* Hands the pieces to the callback, each as soon as it can be spoken. With `wait` not 0 it waits for text, which other
 * threads or the callback push, and returns after the end; with 0 it returns when nothing more is certain to be
 * complete. One call at a time takes the pieces. If it fails or is stopped, the speech has ended. */
KOKORO_API kokoro_error kokoro_live_stream(kokoro_live *live, int wait, kokoro_callback callback, void *user);
/* Ends kokoro_live_stream with KOKORO_CANCELLED, waits for it unless this is called in a callback, and frees the speech.
 * NULL and a speech that was freed are allowed. */
KOKORO_API void kokoro_live_free(kokoro_live *live);

/* ---- Audio ---- */

/* NULL is allowed. */
KOKORO_API void kokoro_audio_free(kokoro_audio *audio);
/* Writes a WAV file of 16 bits, whole or not at all. A file that is there is replaced. */
KOKORO_API kokoro_error kokoro_write_wav(const kokoro_audio *audio, const char *path);

#ifdef __cplusplus
}
#endif

#endif
