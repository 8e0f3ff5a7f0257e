// Speaks text into a WAV file, piece by piece. LIBRARIES is the directory that android_package has made:
//
//     java -cp LIBRARIES/classes.jar -Dkokoro.library=LIBRARIES Speak.java BUNDLE "Hello, world!" hello.wav
import java.io.IOException;
import java.io.RandomAccessFile;
import java.util.Locale;
import kokoro.bundle.Audio;
import kokoro.bundle.Bundle;
import kokoro.bundle.Request;
import kokoro.bundle.Wav;

final class Speak {
    public static void main(String[] arguments) throws IOException {
        Request request = Request.text(arguments[1]);
        try (Bundle bundle = Bundle.load(arguments[0])) {
            bundle.check(request);
            try (RandomAccessFile file = new RandomAccessFile(arguments[2], "rw")) {
                file.setLength(0);
                file.write(Wav.header(0, 24_000));
                long count = 0;
                for (Audio piece : bundle.stream(request)) {
                    System.out.println(String.format(Locale.ROOT, "from %.2f s on: ", piece.start) + piece.phonemes);
                    file.write(Wav.bytes(piece.toPcm16()));
                    count += piece.samples.length;
                }
                file.seek(0);
                file.write(Wav.header(count, 24_000));
            }
        }
    }
}
