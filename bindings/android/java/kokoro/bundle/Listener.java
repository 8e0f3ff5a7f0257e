package kokoro.bundle;

/** Takes the pieces of a speech, on the thread that asked for it. */
public interface Listener {
    /**
     * Takes a piece, while the next one is computed. It may call every method, also of the same bundle. An exception
     * ends the speech, and goes on in the caller.
     *
     * @return false to end the speech
     */
    boolean take(Audio piece);
}
