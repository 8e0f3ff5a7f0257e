package kokoro.bundle;

import java.io.File;
import java.util.List;

/** Speech, or a piece of it. It may outlive its bundle. */
public final class Audio {
    /** Mono, at {@link #sampleRate}; full scale is 1, not clipped. */
    public final float[] samples;
    /** Samples for each second: 24000. */
    public final int sampleRate;
    /** Seconds from the beginning of the whole speech, in pieces of a stream. */
    public final double start;
    /** All that is spoken. */
    public final String phonemes;
    /** The times of the phonemes. */
    public final List<Timing> tokens;
    /** The times of the words of text. */
    public final List<Timing> words;
    /** Frames of 600 samples of each token, boundaries included; rounded in stretched speech. */
    public final long[] durations;
    /** Seconds by which a piece came before those before it were over; below 0: a gap of so many seconds. */
    public final double lead;

    /** Takes what kokoro_jni.c has of a kokoro_audio; it calls this. */
    Audio(
        float[] samples, int sampleRate, double start, byte[] phonemes, byte[] tokens, double[] tokenTimes,
        byte[] words, double[] wordTimes, long[] durations, double lead) {
        this.samples = samples;
        this.sampleRate = sampleRate;
        this.start = start;
        this.phonemes = Text.decoded(phonemes);
        this.tokens = Timing.all(tokens, tokenTimes);
        this.words = Timing.all(words, wordTimes);
        this.durations = durations;
        this.lead = lead;
    }

    /** Returns the length in seconds. */
    public double duration() {
        return (double) samples.length / sampleRate;
    }

    /** Returns samples of 16 bits, rounded as those of the library's own files: a half to the even number. */
    public short[] toPcm16() {
        return Wav.pcm16(samples);
    }

    /** Writes a WAV file of 16 bits, whole or not at all. A file that is there is replaced. */
    public void writeWav(File file) {
        Wav.write(file, samples, sampleRate);
    }

    @Override
    public String toString() {
        return "Audio(" + samples.length + " samples from " + start + " s on: " + phonemes + ")";
    }
}
