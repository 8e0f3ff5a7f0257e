package kokoro.bundle;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** A phoneme or a word, with its time in seconds from the beginning of the whole speech. */
public final class Timing {
    /** A phoneme, or a word as the reader sees it. */
    public final String text;
    /** When it begins. */
    public final double start;
    /** When it ends. */
    public final double end;

    private Timing(String text, double start, double end) {
        this.text = text;
        this.start = start;
        this.end = end;
    }

    /**
     * Returns the timings of C.
     *
     * @param texts each with a zero byte at its end
     * @param times the start and the end of each
     */
    static List<Timing> all(byte[] texts, double[] times) {
        List<Timing> all = new ArrayList<>(times.length / 2);
        int from = 0;
        for (int index = 0; index < times.length; index += 2) {
            int end = from;
            while (texts[end] != 0) end++;
            all.add(new Timing(Text.decoded(texts, from, end), times[index], times[index + 1]));
            from = end + 1;
        }
        return Collections.unmodifiableList(all);
    }

    @Override
    public String toString() {
        return text + " (" + start + " to " + end + " s)";
    }
}
