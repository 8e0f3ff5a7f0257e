package kokoro.bundle;

import java.util.Iterator;
import java.util.NoSuchElementException;

/**
 * The pieces of a speech, each computed when it is taken, on the thread that takes it. They can be taken once.
 *
 * <p>After the last piece or an error nothing is left to close. A speech that is left before, and not closed, keeps its
 * memory until the process ends.
 */
public final class Pieces implements Iterable<Audio>, Iterator<Audio>, AutoCloseable {
    // An address, so no method may use it while another one frees it.
    private long pointer;
    private Audio next;
    private boolean closed;

    Pieces(long pointer) {
        this.pointer = pointer;
    }

    @Override
    public Iterator<Audio> iterator() {
        return this;
    }

    /** Computes the next piece, if that is not done, and returns true if there is one. */
    @Override
    public synchronized boolean hasNext() {
        if (closed) {
            throw new KokoroException(ErrorCode.STREAM_CLOSED_ERROR, "The speech was closed: open another one.");
        }
        if (next == null && pointer != 0) {
            try {
                next = Native.nextPiece(pointer);
            } finally {
                // After an error too, nothing follows.
                if (next == null) free();
            }
        }
        return next != null;
    }

    @Override
    public synchronized Audio next() {
        if (!hasNext()) throw new NoSuchElementException("The speech has no more pieces.");
        Audio piece = next;
        next = null;
        return piece;
    }

    /** Frees the speech, after the piece that another thread computes; {@link Bundle#cancel} ends that. */
    @Override
    public synchronized void close() {
        closed = true;
        next = null;
        free();
    }

    private void free() {
        long freed = pointer;
        pointer = 0;
        if (freed != 0) Native.freePieces(freed);
    }
}
