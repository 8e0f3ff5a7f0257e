package kokoro.bundle;

import java.io.File;

/** The functions of kokoro_jni.c. They throw KokoroException; strings are UTF-8 without a zero byte. */
final class Native {
    private static boolean loaded;

    private Native() {}

    /**
     * Loads the library, if it is not loaded.
     *
     * @throws KokoroException it cannot be loaded
     */
    static synchronized void require() {
        if (loaded) return;
        String place = System.getProperty("kokoro.library");
        try {
            if (place == null) System.loadLibrary("kokoro_jni");
            else System.load(file(new File(place)).getAbsolutePath());
        } catch (UnsatisfiedLinkError error) {
            String message = "The library kokoro_jni cannot be loaded: " + error.getMessage() + ". On Android, take "
                + "the archive for the processor of the device; elsewhere, name the library, or the directory with it "
                + "and libkokoro, in the system property kokoro.library.";
            throw new KokoroException(ErrorCode.LIBRARY_LOAD_ERROR, message);
        }
        loaded = true;
    }

    private static File file(File place) {
        return place.isDirectory() ? new File(place, System.mapLibraryName("kokoro_jni")) : place;
    }

    static native byte[] version();

    static native long load(
        byte[] directory, int threads, boolean skipVerify, byte[] level, byte[] manifestSha256, byte[] arithmetic);

    static native void free(long bundle);

    static native byte[] model(long bundle);

    static native boolean isSynthetic(long bundle);

    static native byte[] level(long bundle);

    static native int maxPhonemes(long bundle);

    static native int voiceCount(long bundle);

    static native byte[] voiceName(long bundle, int index);

    /** Makes a kokoro_request, for {@link #freeRequest}. */
    static native long makeRequest(
        byte[] text, byte[] phonemes, byte[] voice, byte[] language, double speed, long seed, boolean ssml,
        boolean skipEmoji, int trim, boolean steady, double sentencePause, double clausePause, double endPause,
        double loudness, boolean noStretch, boolean onePass);

    static native void freeRequest(long request);

    static native void check(long bundle, long request);

    static native Audio synthesize(long bundle, long request);

    /** Returns false if the listener ended the speech. */
    static native boolean stream(long bundle, long request, Listener listener);

    static native void cancel(long bundle);

    static native long openPieces(long bundle, long request);

    /** Returns null after the last piece. */
    static native Audio nextPiece(long pieces);

    static native void freePieces(long pieces);

    static native long openLive(long bundle, long request);

    static native void push(long live, byte[] text);

    static native void flush(long live);

    static native void end(long live);

    /** Returns false if the listener ended the speech. */
    static native boolean streamLive(long live, boolean wait, Listener listener);

    static native void freeLive(long live);
}
