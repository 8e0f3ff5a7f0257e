// Rounds the samples of a file, for a comparison with Python.
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Paths;
import kokoro.bundle.Wav;

final class Rounded {
    public static void main(String[] arguments) throws IOException {
        byte[] bytes = Files.readAllBytes(Paths.get(arguments[0]));
        float[] samples = new float[bytes.length / 4];
        ByteBuffer.wrap(bytes).asFloatBuffer().get(samples);
        Files.write(Paths.get(arguments[1]), Wav.bytes(Wav.pcm16(samples)));
    }
}
