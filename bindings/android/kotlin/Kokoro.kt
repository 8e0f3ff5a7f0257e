// Named arguments for Kotlin; add this file to the sources of an app.
package kokoro.bundle

/** Returns a request; what is not given has its default. `seed` is a number without a sign. */
fun request(
    text: String? = null,
    phonemes: String? = null,
    voice: String? = null,
    speed: Double = 1.0,
    language: String? = null,
    seed: Long = 0,
    ssml: Boolean = false,
    skipEmoji: Boolean = false,
    trim: Boolean? = null,
    steady: Boolean = false,
    sentencePause: Double = 0.0,
    clausePause: Double = 0.0,
    endPause: Double? = null,
    loudness: Double? = null,
    stretch: Boolean = true,
    onePass: Boolean = false,
): Request {
    var made = Request(text, phonemes).voice(voice).speed(speed).language(language).seed(seed).ssml(ssml)
    made = made.skipEmoji(skipEmoji).steady(steady).sentencePause(sentencePause).clausePause(clausePause)
    made = made.stretch(stretch).onePass(onePass)
    if (trim != null) made = made.trim(trim)
    if (endPause != null) made = made.endPause(endPause)
    if (loudness != null) made = made.loudness(loudness)
    return made
}

/** Speaks a whole text; `Bundle.synthesize(request(…))` takes all options. */
fun Bundle.synthesize(text: String, voice: String? = null, speed: Double = 1.0, language: String? = null): Audio =
    synthesize(request(text, voice = voice, speed = speed, language = language))

/** Returns the pieces of a text, for a loop, `use` or `asSequence`; each is computed when it is taken. */
fun Bundle.stream(text: String, voice: String? = null, speed: Double = 1.0, language: String? = null): Pieces =
    stream(request(text, voice = voice, speed = speed, language = language))

/** Opens a speech whose text arrives bit by bit. */
fun Bundle.live(voice: String? = null, speed: Double = 1.0, language: String? = null): Live =
    live(request(voice = voice, speed = speed, language = language))
