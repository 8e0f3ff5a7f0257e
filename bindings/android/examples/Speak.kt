// Speaks text into a WAV file. LIBRARIES is the directory that android_package has made:
//
//     kotlinc -cp LIBRARIES/classes.jar LIBRARIES/Kokoro.kt Speak.kt -include-runtime -d speak.jar
//     java -cp LIBRARIES/classes.jar:speak.jar -Dkokoro.library=LIBRARIES SpeakKt BUNDLE "Hello, world!" hello.wav
import java.io.RandomAccessFile
import java.util.Locale
import kokoro.bundle.Bundle
import kokoro.bundle.Wav
import kokoro.bundle.request
import kokoro.bundle.stream

fun main(arguments: Array<String>) {
    val (directory, text, output) = arguments
    Bundle.load(directory).use { bundle ->
        bundle.check(request(text))
        RandomAccessFile(output, "rw").use { file ->
            file.setLength(0)
            file.write(Wav.header(0, 24_000))
            var count = 0L
            for (piece in bundle.stream(text)) {
                println("from %.2f s on: %s".format(Locale.ROOT, piece.start, piece.phonemes))
                file.write(Wav.bytes(piece.toPcm16()))
                count += piece.samples.size
            }
            file.seek(0)
            file.write(Wav.header(count, 24_000))
        }
    }
}
