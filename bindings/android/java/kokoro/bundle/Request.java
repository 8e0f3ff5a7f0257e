package kokoro.bundle;

/**
 * What to speak, and how. Options have the names and the defaults of Python's. A request does not change: each method
 * returns another one.
 */
public final class Request implements Cloneable {
    private final String text;
    private final String phonemes;
    private String voice;
    private String language;
    private double speed = 1;
    private long seed;
    private boolean ssml;
    private boolean skipEmoji;
    /** 1 to trim, -1 not to, 0 for the default. */
    private int trim;
    private boolean steady;
    private double sentencePause;
    private double clausePause;
    /** Zero is the default, and a negative number no silence. */
    private double endPause;
    /** Zero is the level of the model. */
    private double loudness;
    private boolean stretch = true;
    private boolean onePass;

    /** A request without text, for {@link Bundle#live}. */
    public Request() {
        this(null, null);
    }

    /** A request to speak either text or phonemes; the other one is null. */
    public Request(String text, String phonemes) {
        this.text = text;
        this.phonemes = phonemes;
    }

    /** Returns a request to speak text of any length. */
    public static Request text(String text) {
        return new Request(text, null);
    }

    /** Returns a request to speak phonemes of any length. */
    public static Request phonemes(String phonemes) {
        return new Request(null, phonemes);
    }

    /** A name, or a blend such as "af_heart*0.7+am_adam*0.3"; by default "af_heart". */
    public Request voice(String voice) {
        Request made = copy();
        made.voice = voice;
        return made;
    }

    /** The language of the text, such as "en-us" or "es-MX"; by default that of the voice. */
    public Request language(String language) {
        Request made = copy();
        made.language = language;
        return made;
    }

    /** From 0.25 to 4; 1 by default. */
    public Request speed(double speed) {
        Request made = copy();
        made.speed = notZero(speed);
        return made;
    }

    /** The seed of the noise in unvoiced sounds, a number without a sign; equal seeds give equal samples. */
    public Request seed(long seed) {
        Request made = copy();
        made.seed = seed;
        return made;
    }

    /** The text is an SSML document. */
    public Request ssml(boolean ssml) {
        Request made = copy();
        made.ssml = ssml;
        return made;
    }

    /** Leave emoji out. */
    public Request skipEmoji(boolean skipEmoji) {
        Request made = copy();
        made.skipEmoji = skipEmoji;
        return made;
    }

    /** Shorten the silence at both ends; the default of streams. */
    public Request trim(boolean trim) {
        Request made = copy();
        made.trim = trim ? 1 : -1;
        return made;
    }

    /** Begin a stream late enough that a slow machine makes no gaps. */
    public Request steady(boolean steady) {
        Request made = copy();
        made.steady = steady;
        return made;
    }

    /** Seconds of silence to add after each sentence but the last, 0 to 60. */
    public Request sentencePause(double sentencePause) {
        Request made = copy();
        made.sentencePause = sentencePause;
        return made;
    }

    /** The same after clauses that do not end a sentence. */
    public Request clausePause(double clausePause) {
        Request made = copy();
        made.clausePause = clausePause;
        return made;
    }

    /** Seconds of silence at the end where it is trimmed; 0.3 by default. */
    public Request endPause(double endPause) {
        Request made = copy();
        made.endPause = endPause == 0 ? -1 : endPause;
        return made;
    }

    /** LUFS to which a fixed gain brings each voice, such as -18; by default voices have the level of the model. */
    public Request loudness(double loudness) {
        Request made = copy();
        made.loudness = notZero(loudness);
        return made;
    }

    /** False leaves speeds to the model. */
    public Request stretch(boolean stretch) {
        Request made = copy();
        made.stretch = stretch;
        return made;
    }

    /** Divide a stream no further than {@link Bundle#synthesize} does. */
    public Request onePass(boolean onePass) {
        Request made = copy();
        made.onePass = onePass;
        return made;
    }

    /** A call of the library. */
    interface Call<Result> {
        Result with(long request);
    }

    /** Returns what a call returns that gets the request of C. */
    <Result> Result made(Call<Result> call) {
        long made = Native.makeRequest(
            Text.encoded("text", text), Text.encoded("phonemes", phonemes), Text.encoded("voice", voice),
            Text.encoded("language", language), speed, seed, ssml, skipEmoji, trim, steady, sentencePause, clausePause,
            endPause, loudness, !stretch, onePass);
        try {
            return call.with(made);
        } finally {
            Native.freeRequest(made);
        }
    }

    private Request copy() {
        try {
            return (Request) clone();
        } catch (CloneNotSupportedException impossible) {
            throw new AssertionError(impossible);
        }
    }

    /** Returns a number for a field whose zero means its default: a zero that is given is refused as what it is. */
    private static double notZero(double number) {
        return number == 0 ? Double.MIN_VALUE : number;
    }
}
