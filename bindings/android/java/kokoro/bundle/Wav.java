package kokoro.bundle;

import java.io.BufferedOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.UUID;

/** WAV files of 16 bits, with the samples that the library writes. */
public final class Wav {
    private static final int HEADER = 44;
    private static final long LARGEST = 0xFFFFFFFFL;

    private Wav() {}

    /** Returns samples of 16 bits: clipped, scaled in 32 bits, and rounded, a half to the even number. */
    public static short[] pcm16(float[] samples) {
        short[] rounded = new short[samples.length];
        for (int index = 0; index < samples.length; index++) {
            float scaled = Math.max(-1f, Math.min(1f, samples[index])) * 32767f;
            rounded[index] = (short) Math.rint(scaled);
        }
        return rounded;
    }

    /** Returns the beginning of a WAV file, before so many samples. */
    public static byte[] header(long sampleCount, int sampleRate) {
        long size = 2 * sampleCount;
        if (size > LARGEST - HEADER) {
            String message = "The file would have " + sampleCount + " samples of 16 bits, and a WAV file holds 4 GiB: "
                + "write several files.";
            throw new KokoroException(ErrorCode.OUTPUT_ERROR, message);
        }
        ByteBuffer header = ByteBuffer.allocate(HEADER).order(ByteOrder.LITTLE_ENDIAN);
        header.put(ascii("RIFF")).putInt((int) (size + HEADER - 8)).put(ascii("WAVEfmt ")).putInt(16);
        // One channel of PCM, with two bytes for each sample.
        header.putShort((short) 1).putShort((short) 1).putInt(sampleRate).putInt(2 * sampleRate);
        header.putShort((short) 2).putShort((short) 16).put(ascii("data")).putInt((int) size);
        return header.array();
    }

    /** Returns the bytes of samples of 16 bits, as a WAV file has them. */
    public static byte[] bytes(short[] samples) {
        ByteBuffer bytes = ByteBuffer.allocate(2 * samples.length).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asShortBuffer().put(samples);
        return bytes.array();
    }

    /** Writes a file, whole or not at all. */
    static void write(File file, float[] samples, int sampleRate) {
        byte[] header = header(samples.length, sampleRate);
        try {
            Path path = file.getAbsoluteFile().toPath();
            Path unfinished = path.resolveSibling(".kokoro-" + UUID.randomUUID() + ".wav");
            try {
                try (OutputStream output = new BufferedOutputStream(Files.newOutputStream(unfinished))) {
                    output.write(header);
                    for (short sample : pcm16(samples)) {
                        output.write(sample);
                        output.write(sample >> 8);
                    }
                }
                Files.move(unfinished, path, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
            } finally {
                Files.deleteIfExists(unfinished);
            }
        } catch (IOException | InvalidPathException error) {
            String message = "The file " + file + " cannot be written: " + error + ". Choose another place.";
            throw new KokoroException(ErrorCode.OUTPUT_ERROR, message);
        }
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
