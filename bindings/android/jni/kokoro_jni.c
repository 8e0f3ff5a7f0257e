// The native methods of kokoro.bundle.Native. Each calls one function of kokoro.h, and throws its error.
//
// Strings are arrays of bytes in UTF-8, because JNI's own strings are in another form. The Java methods see to it that
// none has a zero byte, and that no handle but that of a bundle or a live speech is used after it was freed.
#include <jni.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kokoro.h"
#include "kokoro_bundle_Native.h"

// The name of a native method in C.
#define METHOD(name) JNICALL Java_kokoro_bundle_Native_##name
// A handle or an address of the library, as Java keeps it.
#define POINTER(type, number) ((type *)(intptr_t)(number))
#define NUMBER(pointer) ((jlong)(intptr_t)(pointer))

static jclass audio_class, exception_class;
static jmethodID make_audio_of, make_exception_of, take_piece;

static jclass kept_class(JNIEnv *env, const char *name) {
    jclass found = (*env)->FindClass(env, name);
    return found ? (*env)->NewGlobalRef(env, found) : NULL;
}

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *machine, void *reserved) {
    (void)reserved;
    JNIEnv *env;
    if ((*machine)->GetEnv(machine, (void **)&env, JNI_VERSION_1_6) != JNI_OK) return JNI_ERR;
    // What is not found is pending as an error.
    jclass listener = (*env)->FindClass(env, "kokoro/bundle/Listener");
    if (!listener || !(audio_class = kept_class(env, "kokoro/bundle/Audio"))) return JNI_ERR;
    if (!(exception_class = kept_class(env, "kokoro/bundle/KokoroException"))) return JNI_ERR;
    take_piece = (*env)->GetMethodID(env, listener, "take", "(Lkokoro/bundle/Audio;)Z");
    if (!take_piece) return JNI_ERR;
    make_audio_of = (*env)->GetMethodID(env, audio_class, "<init>", "([FID[B[B[D[B[D[JD)V");
    if (!make_audio_of) return JNI_ERR;
    make_exception_of = (*env)->GetMethodID(env, exception_class, "<init>", "(I[B)V");
    return make_exception_of ? JNI_VERSION_1_6 : JNI_ERR;
}

// ---- Strings and errors ----

// Returns an array of bytes; NULL, with an error pending, where memory is short.
static jbyteArray bytes_of(JNIEnv *env, const char *text) {
    jsize length = (jsize)strlen(text);
    jbyteArray bytes = (*env)->NewByteArray(env, length);
    if (bytes) (*env)->SetByteArrayRegion(env, bytes, 0, length, (const jbyte *)text);
    return bytes;
}

// Returns the same of a string that is NULL if its bundle was freed.
static jbyteArray fact_of(JNIEnv *env, const char *text) { return bytes_of(env, text ? text : ""); }

static void throw_error(JNIEnv *env, kokoro_error code, const char *message) {
    jbyteArray bytes = bytes_of(env, message);
    jthrowable error = bytes ? (*env)->NewObject(env, exception_class, make_exception_of, (jint)code, bytes) : NULL;
    if (error) (*env)->Throw(env, error);
}

// Throws the error of a function that this thread has just called, unless it is none.
static void check(JNIEnv *env, kokoro_error code) {
    if (code != KOKORO_OK) throw_error(env, code, kokoro_last_error());
}

static void throw_short_memory(JNIEnv *env) {
    throw_error(env, KOKORO_RESOURCE_ERROR, "This machine is out of memory: free some, and try again.");
}

// How many strings a function of kokoro.h takes in a struct and beside it.
enum { TEXTS = 4 };

static void free_texts(char *texts[]) {
    for (int index = 0; index < TEXTS; index++) free(texts[index]);
}

// Sets strings for `free_texts`, NULL for null. Returns false, with an error pending, where memory is short.
static bool read_texts(JNIEnv *env, const jbyteArray given[], char *texts[]) {
    memset(texts, 0, TEXTS * sizeof *texts);
    for (int index = 0; index < TEXTS; index++) {
        if (!given[index]) continue;
        jsize length = (*env)->GetArrayLength(env, given[index]);
        texts[index] = malloc((size_t)length + 1);
        if (!texts[index]) {
            free_texts(texts);
            throw_short_memory(env);
            return false;
        }
        (*env)->GetByteArrayRegion(env, given[index], 0, length, (jbyte *)texts[index]);
        texts[index][length] = 0;
    }
    return true;
}

// ---- Audio ----

// Returns the texts of timings, each with its zero byte.
static jbyteArray texts_of(JNIEnv *env, const kokoro_timing *timings, size_t count) {
    size_t length = 0;
    for (size_t index = 0; index < count; index++) length += strlen(timings[index].text) + 1;
    jbyteArray texts = (*env)->NewByteArray(env, (jsize)length);
    jsize at = 0;
    for (size_t index = 0; texts && index < count; index++) {
        jsize size = (jsize)strlen(timings[index].text) + 1;
        (*env)->SetByteArrayRegion(env, texts, at, size, (const jbyte *)timings[index].text);
        at += size;
    }
    return texts;
}

// Returns the starts and ends of timings, in turn.
static jdoubleArray times_of(JNIEnv *env, const kokoro_timing *timings, size_t count) {
    jdoubleArray times = (*env)->NewDoubleArray(env, (jsize)(2 * count));
    for (size_t index = 0; times && index < count; index++) {
        const jdouble both[] = {timings[index].start, timings[index].end};
        (*env)->SetDoubleArrayRegion(env, times, (jsize)(2 * index), 2, both);
    }
    return times;
}

// Returns a copy; NULL, with an error pending, where memory is short.
static jobject audio_of(JNIEnv *env, const kokoro_audio *audio) {
    if (audio->sample_count > INT32_MAX) {
        throw_error(env, KOKORO_RESOURCE_ERROR, "The speech is longer than an array of Java: speak piece by piece.");
        return NULL;
    }
    jbyteArray phonemes = bytes_of(env, audio->phonemes);
    jbyteArray tokens = phonemes ? texts_of(env, audio->tokens, audio->token_count) : NULL;
    jdoubleArray token_times = tokens ? times_of(env, audio->tokens, audio->token_count) : NULL;
    jbyteArray words = token_times ? texts_of(env, audio->words, audio->word_count) : NULL;
    jdoubleArray word_times = words ? times_of(env, audio->words, audio->word_count) : NULL;
    jlongArray durations = word_times ? (*env)->NewLongArray(env, (jsize)audio->duration_count) : NULL;
    jfloatArray samples = durations ? (*env)->NewFloatArray(env, (jsize)audio->sample_count) : NULL;
    if (!samples) return NULL;
    (*env)->SetLongArrayRegion(env, durations, 0, (jsize)audio->duration_count, (const jlong *)audio->durations);
    (*env)->SetFloatArrayRegion(env, samples, 0, (jsize)audio->sample_count, audio->samples);
    return (*env)->NewObject(
        env, audio_class, make_audio_of, samples, (jint)audio->sample_rate, audio->start, phonemes, tokens, token_times,
        words, word_times, durations, audio->lead);
}

// Returns a copy of an audio of the caller's, which it frees; NULL for NULL.
static jobject taken_audio(JNIEnv *env, kokoro_audio *audio) {
    jobject copy = audio ? audio_of(env, audio) : NULL;
    kokoro_audio_free(audio);
    return copy;
}

// ---- Bundles ----

JNIEXPORT jbyteArray METHOD(version)(JNIEnv *env, jclass class) {
    (void)class;
    return bytes_of(env, kokoro_version());
}

JNIEXPORT jlong METHOD(load)(
    JNIEnv *env, jclass class, jbyteArray directory, jint threads, jboolean skip_verify, jbyteArray level,
    jbyteArray manifest_sha256, jbyteArray arithmetic) {
    (void)class;
    const jbyteArray given[TEXTS] = {directory, level, manifest_sha256, arithmetic};
    char *texts[TEXTS];
    if (!read_texts(env, given, texts)) return 0;
    kokoro_options options = {
        .size = sizeof options,
        .threads = threads,
        .skip_verify = skip_verify,
        .level = texts[1],
        .manifest_sha256 = texts[2],
        .arithmetic = texts[3],
    };
    kokoro_bundle *bundle = NULL;
    check(env, kokoro_load(texts[0], &options, &bundle));
    free_texts(texts);
    return NUMBER(bundle);
}

JNIEXPORT void METHOD(free)(JNIEnv *env, jclass class, jlong bundle) {
    (void)env, (void)class;
    kokoro_free(POINTER(kokoro_bundle, bundle));
}

JNIEXPORT jbyteArray METHOD(model)(JNIEnv *env, jclass class, jlong bundle) {
    (void)class;
    return fact_of(env, kokoro_model_name(POINTER(kokoro_bundle, bundle)));
}

JNIEXPORT jboolean METHOD(isSynthetic)(JNIEnv *env, jclass class, jlong bundle) {
    (void)env, (void)class;
    return kokoro_is_synthetic(POINTER(kokoro_bundle, bundle)) != 0;
}

JNIEXPORT jbyteArray METHOD(level)(JNIEnv *env, jclass class, jlong bundle) {
    (void)class;
    return fact_of(env, kokoro_level(POINTER(kokoro_bundle, bundle)));
}

JNIEXPORT jint METHOD(maxPhonemes)(JNIEnv *env, jclass class, jlong bundle) {
    (void)env, (void)class;
    return (jint)kokoro_max_phonemes(POINTER(kokoro_bundle, bundle));
}

JNIEXPORT jint METHOD(voiceCount)(JNIEnv *env, jclass class, jlong bundle) {
    (void)env, (void)class;
    return (jint)kokoro_voice_count(POINTER(kokoro_bundle, bundle));
}

JNIEXPORT jbyteArray METHOD(voiceName)(JNIEnv *env, jclass class, jlong bundle, jint index) {
    (void)class;
    return fact_of(env, kokoro_voice_name(POINTER(kokoro_bundle, bundle), (size_t)index));
}

JNIEXPORT void METHOD(cancel)(JNIEnv *env, jclass class, jlong bundle) {
    (void)env, (void)class;
    kokoro_cancel(POINTER(kokoro_bundle, bundle));
}

// ---- Requests ----

JNIEXPORT jlong METHOD(makeRequest)(
    JNIEnv *env, jclass class, jbyteArray text, jbyteArray phonemes, jbyteArray voice, jbyteArray language,
    jdouble speed, jlong seed, jboolean ssml, jboolean skip_emoji, jint trim, jboolean steady, jdouble sentence_pause,
    jdouble clause_pause, jdouble end_pause, jdouble loudness, jboolean no_stretch, jboolean one_pass) {
    (void)class;
    const jbyteArray given[TEXTS] = {text, phonemes, voice, language};
    char *texts[TEXTS];
    if (!read_texts(env, given, texts)) return 0;
    kokoro_request *request = malloc(sizeof *request);
    if (!request) {
        free_texts(texts);
        throw_short_memory(env);
        return 0;
    }
    *request = (kokoro_request){
        .size = sizeof *request,
        .text = texts[0],
        .phonemes = texts[1],
        .voice = texts[2],
        .speed = speed,
        .seed = (uint64_t)seed,
        .ssml = ssml,
        .skip_emoji = skip_emoji,
        .trim = trim,
        .steady = steady,
        .language = texts[3],
        .sentence_pause = sentence_pause,
        .clause_pause = clause_pause,
        .end_pause = end_pause,
        .loudness = loudness,
        .no_stretch = no_stretch,
        .one_pass = one_pass,
    };
    return NUMBER(request);
}

JNIEXPORT void METHOD(freeRequest)(JNIEnv *env, jclass class, jlong given) {
    (void)env, (void)class;
    kokoro_request *request = POINTER(kokoro_request, given);
    char *texts[TEXTS] = {
        (char *)request->text, (char *)request->phonemes, (char *)request->voice, (char *)request->language};
    free_texts(texts);
    free(request);
}

// ---- Speech ----

JNIEXPORT void METHOD(check)(JNIEnv *env, jclass class, jlong bundle, jlong request) {
    (void)class;
    check(env, kokoro_check(POINTER(kokoro_bundle, bundle), POINTER(kokoro_request, request)));
}

JNIEXPORT jobject METHOD(synthesize)(JNIEnv *env, jclass class, jlong bundle, jlong request) {
    (void)class;
    kokoro_audio *audio = NULL;
    check(env, kokoro_synthesize(POINTER(kokoro_bundle, bundle), POINTER(kokoro_request, request), &audio));
    return taken_audio(env, audio);
}

// A listener that takes pieces, on the thread of `env`.
typedef struct {
    JNIEnv *env;
    jobject listener;
    bool ended;
} Taker;

// Hands a piece to a listener. Not 0, which stops the speech: the listener wants no more, or an error is pending.
static int take(const kokoro_audio *piece, void *user) {
    Taker *taker = user;
    JNIEnv *env = taker->env;
    // The references of each piece are freed with it.
    if ((*env)->PushLocalFrame(env, 16) != JNI_OK) return 1;
    jobject audio = audio_of(env, piece);
    bool more = audio && (*env)->CallBooleanMethod(env, taker->listener, take_piece, audio);
    bool failed = (*env)->ExceptionCheck(env);
    (*env)->PopLocalFrame(env, NULL);
    taker->ended = !more && !failed;
    return !more || failed;
}

// Returns true after the last piece, and false if the listener wanted no more. Throws what it threw, or the error of the
// library.
static jboolean ended(const Taker *taker, kokoro_error code) {
    JNIEnv *env = taker->env;
    if ((*env)->ExceptionCheck(env) || taker->ended) return JNI_FALSE;
    check(env, code);
    return code == KOKORO_OK;
}

JNIEXPORT jboolean METHOD(stream)(JNIEnv *env, jclass class, jlong bundle, jlong request, jobject listener) {
    (void)class;
    Taker taker = {env, listener, false};
    const kokoro_request *given = POINTER(kokoro_request, request);
    return ended(&taker, kokoro_stream(POINTER(kokoro_bundle, bundle), given, take, &taker));
}

JNIEXPORT jlong METHOD(openPieces)(JNIEnv *env, jclass class, jlong bundle, jlong request) {
    (void)class;
    kokoro_pieces *pieces = NULL;
    check(env, kokoro_pieces_open(POINTER(kokoro_bundle, bundle), POINTER(kokoro_request, request), &pieces));
    return NUMBER(pieces);
}

JNIEXPORT jobject METHOD(nextPiece)(JNIEnv *env, jclass class, jlong pieces) {
    (void)class;
    kokoro_audio *audio = NULL;
    check(env, kokoro_pieces_next(POINTER(kokoro_pieces, pieces), &audio));
    return taken_audio(env, audio);
}

JNIEXPORT void METHOD(freePieces)(JNIEnv *env, jclass class, jlong pieces) {
    (void)env, (void)class;
    kokoro_pieces_free(POINTER(kokoro_pieces, pieces));
}

// ---- Text that arrives bit by bit ----

JNIEXPORT jlong METHOD(openLive)(JNIEnv *env, jclass class, jlong bundle, jlong request) {
    (void)class;
    kokoro_live *live = NULL;
    check(env, kokoro_live_open(POINTER(kokoro_bundle, bundle), POINTER(kokoro_request, request), &live));
    return NUMBER(live);
}

JNIEXPORT void METHOD(push)(JNIEnv *env, jclass class, jlong live, jbyteArray text) {
    (void)class;
    const jbyteArray given[TEXTS] = {text};
    char *texts[TEXTS];
    if (!read_texts(env, given, texts)) return;
    check(env, kokoro_live_push(POINTER(kokoro_live, live), texts[0]));
    free_texts(texts);
}

JNIEXPORT void METHOD(flush)(JNIEnv *env, jclass class, jlong live) {
    (void)class;
    check(env, kokoro_live_flush(POINTER(kokoro_live, live)));
}

JNIEXPORT void METHOD(end)(JNIEnv *env, jclass class, jlong live) {
    (void)class;
    check(env, kokoro_live_end(POINTER(kokoro_live, live)));
}

JNIEXPORT jboolean METHOD(streamLive)(JNIEnv *env, jclass class, jlong live, jboolean wait, jobject listener) {
    (void)class;
    Taker taker = {env, listener, false};
    return ended(&taker, kokoro_live_stream(POINTER(kokoro_live, live), wait, take, &taker));
}

JNIEXPORT void METHOD(freeLive)(JNIEnv *env, jclass class, jlong live) {
    (void)env, (void)class;
    kokoro_live_free(POINTER(kokoro_live, live));
}
