package kokoro.bundle;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * A speech whose text is pushed, such as the tokens of a language model. Every thread may push, also the listener that
 * takes the pieces. One call at a time takes them.
 *
 * <p>A speech that is not closed keeps its memory until the process ends.
 */
public final class Live implements AutoCloseable {
    // The library refuses a handle that was freed.
    private final long handle;
    private final Object pushing = new Object();
    /** The first half of a character whose second half is in the next part, or nothing. */
    private String half = "";

    Live(long handle) {
        this.handle = handle;
    }

    /**
     * Takes the next part of the text, cut anywhere. Computes nothing. A sentence, or the first clause, is spoken when
     * the word after it shows that it is complete.
     */
    public void push(String text) {
        synchronized (pushing) {
            String given = half.concat(text);
            int end = given.length();
            if (end > 0 && Character.isHighSurrogate(given.charAt(end - 1))) end--;
            Native.push(handle, Text.encoded("text", given.substring(0, end)));
            half = given.substring(end);
        }
    }

    /** Has all that is there spoken, although its sentence may go on. */
    public void flush() {
        Native.flush(handle);
    }

    /** Ends the text: what is there is the end of the speech. */
    public void end() {
        synchronized (pushing) {
            Native.push(handle, Text.encoded("text", half));
            Native.end(handle);
        }
    }

    /**
     * Hands the pieces to a listener, waits for text, and returns after the end.
     *
     * @return false if the listener ended the speech
     */
    public boolean stream(Listener listener) {
        Objects.requireNonNull(listener, "listener");
        return Native.streamLive(handle, true, listener);
    }

    /** Returns the pieces that are certain to be complete, without waiting: for programs of one thread. */
    public List<Audio> pieces() {
        List<Audio> pieces = new ArrayList<>();
        Native.streamLive(handle, false, pieces::add);
        return pieces;
    }

    /** Ends a call that takes pieces, waits for it unless its listener calls this, and frees the speech. */
    @Override
    public void close() {
        Native.freeLive(handle);
    }
}
