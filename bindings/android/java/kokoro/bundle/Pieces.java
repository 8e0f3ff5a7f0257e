package kokoro.bundle;

import java.util.Iterator;
import java.util.NoSuchElementException;

/**
 * The pieces of a speech, each computed when it is taken, on the thread that takes it. They can be taken once.
 *
 * <p>After the last piece or an error nothing is left to close. A speech that is left before, and not closed, keeps its
 * memory until the process ends.
 */
public final class Pieces implements Iterable<Audio>, AutoCloseable {
    // An address, so no method may use it while another one frees it.
    private long pointer;
    private boolean closed;

    Pieces(long pointer) {
        this.pointer = pointer;
    }

    /** Computes the next piece, and returns null after the last one. */
    public synchronized Audio next() {
        if (closed) {
            throw new KokoroException(ErrorCode.STREAM_CLOSED_ERROR, "The speech was closed: open another one.");
        }
        if (pointer == 0) return null;
        Audio piece = null;
        try {
            piece = Native.nextPiece(pointer);
            return piece;
        } finally {
            // After an error too, nothing follows.
            if (piece == null) free();
        }
    }

    /** Returns what calls {@link #next} for a loop. */
    @Override
    public Iterator<Audio> iterator() {
        return new Iterator<Audio>() {
            private Audio piece;

            @Override
            public boolean hasNext() {
                if (piece == null) piece = Pieces.this.next();
                return piece != null;
            }

            @Override
            public Audio next() {
                if (!hasNext()) throw new NoSuchElementException("The speech has no more pieces.");
                Audio taken = piece;
                piece = null;
                return taken;
            }
        };
    }

    /** Frees the speech, after the piece that another thread computes; {@link Bundle#cancel} ends that. */
    @Override
    public synchronized void close() {
        closed = true;
        free();
    }

    private void free() {
        long freed = pointer;
        pointer = 0;
        if (freed != 0) Native.freePieces(freed);
    }
}
