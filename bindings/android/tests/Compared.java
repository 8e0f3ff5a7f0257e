// Prints speech for a comparison with Python: a line for each piece, with an empty line after each speech.
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.stream.Collectors;
import kokoro.bundle.Audio;
import kokoro.bundle.Bundle;
import kokoro.bundle.Live;
import kokoro.bundle.Request;
import kokoro.bundle.Timing;

final class Compared {
    /** Arguments: a bundle, text, phonemes, and the numbers of characters after which to cut text that arrives. */
    public static void main(String[] arguments) {
        String text = arguments[1];
        Request manner = new Request().voice("af_heart*0.7+am_adam*0.3").speed(1.2);
        try (Bundle bundle = Bundle.load(arguments[0])) {
            Request seeded = Request.text(text).voice("af_heart*0.7+am_adam*0.3").speed(1.2).seed(-1);
            print(Arrays.asList(bundle.synthesize(seeded.sentencePause(0.1).clausePause(0.2).stretch(false))));
            print(Arrays.asList(bundle.synthesize(Request.phonemes(arguments[2]).trim(true).endPause(0))));
            List<Audio> streamed = new ArrayList<>();
            bundle.stream(Request.text(text).endPause(0.4), streamed::add);
            print(streamed);
            List<Audio> taken = new ArrayList<>();
            bundle.stream(Request.text(text).trim(false).onePass(true).language("es")).forEach(taken::add);
            print(taken);
            for (String size : arguments[3].split(",")) print(arriving(bundle, manner, text, Integer.parseInt(size)));
        }
    }

    private static List<Audio> arriving(Bundle bundle, Request manner, String text, int size) {
        List<Audio> pieces = new ArrayList<>();
        try (Live live = bundle.live(manner)) {
            for (int from = 0; from < text.length(); from += size) {
                live.push(text.substring(from, Math.min(from + size, text.length())));
                pieces.addAll(live.pieces());
            }
            live.end();
            pieces.addAll(live.pieces());
        }
        return pieces;
    }

    private static void print(List<Audio> pieces) {
        for (Audio piece : pieces) {
            ByteBuffer samples = ByteBuffer.allocate(4 * piece.samples.length).order(ByteOrder.LITTLE_ENDIAN);
            samples.asFloatBuffer().put(piece.samples);
            String durations = Arrays.stream(piece.durations).mapToObj(Long::toString).collect(Collectors.joining(" "));
            System.out.println(String.join("\t", Base64.getEncoder().encodeToString(samples.array()), piece.phonemes,
                Double.toString(piece.start), times(piece.tokens), times(piece.words), durations));
        }
        System.out.println();
    }

    private static String times(List<Timing> timings) {
        return timings.stream().map(each -> each.text + "\n" + each.start + "\n" + each.end)
            .map(each -> each.replace("\n", "\u0001")).collect(Collectors.joining("\u0002"));
    }
}
