package kokoro.bundle;

import java.io.File;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;

/**
 * A bundle that speaks. Every thread may use it; calls on one bundle take turns.
 *
 * <p>A bundle that is not closed keeps its memory until the process ends.
 */
public final class Bundle implements AutoCloseable {
    // The library refuses a handle that was freed.
    private final long handle;
    private final String model;
    private final boolean synthetic;
    private final String level;
    private final int maxPhonemes;
    private final List<String> voices;

    private Bundle(long handle) {
        this.handle = handle;
        model = Text.decoded(Native.model(handle));
        synthetic = Native.isSynthetic(handle);
        level = Text.decoded(Native.level(handle));
        maxPhonemes = Native.maxPhonemes(handle);
        List<String> names = new ArrayList<>();
        for (int index = 0; index < Native.voiceCount(handle); index++) {
            names.add(Text.decoded(Native.voiceName(handle, index)));
        }
        voices = Collections.unmodifiableList(names);
    }

    /** Verifies and loads the bundle in a directory. */
    public static Bundle load(String directory) {
        return load(directory, new BundleOptions());
    }

    /** Verifies and loads the bundle in a directory. */
    public static Bundle load(File directory) {
        return load(directory.getPath());
    }

    /** Verifies and loads the bundle in a directory. */
    public static Bundle load(File directory, BundleOptions options) {
        return load(directory.getPath(), options);
    }

    /** Verifies and loads the bundle in a directory. */
    public static Bundle load(String directory, BundleOptions options) {
        Native.require();
        return new Bundle(Native.load(
            Text.encoded("path of the bundle", directory), options.threads, !options.verify,
            Text.encoded("level", options.level), Text.encoded("digest", options.manifestSha256),
            Text.encoded("arithmetic", options.arithmetic)));
    }

    /** Returns the version of the library, such as "0.1.0". */
    public static String libraryVersion() {
        Native.require();
        return Text.decoded(Native.version());
    }

    /** Returns the name of the model. */
    public String model() {
        return model;
    }

    /** Returns true if the weights are random and the bundle babbles; an app then tells its user. */
    public boolean isSynthetic() {
        return synthetic;
    }

    /** Returns the CPU level in use. */
    public String level() {
        return level;
    }

    /** Returns the most phonemes that are spoken at once; longer input is split. */
    public int maxPhonemes() {
        return maxPhonemes;
    }

    /** Returns the names of the voices. */
    public List<String> voices() {
        return voices;
    }

    /** Throws the error that {@link #synthesize} would throw before it computes. */
    public void check(Request request) {
        request.made(made -> {
            Native.check(handle, made);
            return null;
        });
    }

    /** Speaks the whole input. */
    public Audio synthesize(Request request) {
        return request.made(made -> Native.synthesize(handle, made));
    }

    /**
     * Speaks piece by piece: the first is a clause or a few words, later ones grow. The listener gets each piece on
     * this thread, while the next one is computed.
     *
     * @return false if the listener ended the speech
     */
    public boolean stream(Request request, Listener listener) {
        Objects.requireNonNull(listener, "listener");
        return request.made(made -> Native.stream(handle, made, listener));
    }

    /** Returns the pieces of a stream; each is computed when it is taken, on the thread that takes it. */
    public Pieces stream(Request request) {
        return new Pieces(request.made(made -> Native.openPieces(handle, made)));
    }

    /** Opens a speech whose text arrives bit by bit. The request has neither text nor phonemes. */
    public Live live(Request request) {
        return new Live(request.made(made -> Native.openLive(handle, made)));
    }

    /** Ends all calls on the bundle that are running or waiting, with the error CancelledError. */
    public void cancel() {
        Native.cancel(handle);
    }

    /**
     * Ends all calls on the bundle, waits for them, and frees it; later calls throw ClosedBundleError. A listener may
     * call this: there it does not wait.
     */
    @Override
    public void close() {
        Native.free(handle);
    }

    @Override
    public String toString() {
        return "Bundle(" + model + " on " + level + ", " + voices.size() + " voices)";
    }
}
