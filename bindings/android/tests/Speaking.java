// What an app may rely on. Arguments: a bundle, and the names of checks; without names all are run.
import java.io.File;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import kokoro.bundle.Audio;
import kokoro.bundle.Bundle;
import kokoro.bundle.BundleOptions;
import kokoro.bundle.ErrorCode;
import kokoro.bundle.KokoroException;
import kokoro.bundle.Live;
import kokoro.bundle.Pieces;
import kokoro.bundle.Request;
import kokoro.bundle.Wav;

final class Speaking extends Checks {
    private static final String TEXT =
        "One sentence is here. Another one follows it, and it is longer. The third one ends it.";
    private static final String LONG = String.join(" ", Collections.nCopies(100_000, TEXT));
    private static String directory;

    public static void main(String[] arguments) throws Exception {
        directory = arguments[0];
        List<String> chosen = Arrays.asList(arguments).subList(1, arguments.length);
        for (Method method : Speaking.class.getDeclaredMethods()) {
            boolean returns = method.getReturnType() != void.class;
            // A lambda is a method too.
            if (method.isSynthetic() || method.getParameterCount() > 0 || returns) continue;
            if (!chosen.isEmpty() && !chosen.contains(method.getName())) continue;
            try {
                method.invoke(null);
            } catch (InvocationTargetException failure) {
                throw new AssertionError(method.getName(), failure.getCause());
            }
            System.out.println("passed: " + method.getName());
        }
        // No thread of a check may be left.
        System.exit(0);
    }

    static void aBundleTellsWhatItIs() {
        try (Bundle bundle = loaded()) {
            require(bundle.voices().contains("af_heart") && bundle.isSynthetic() && bundle.maxPhonemes() == 20);
            require(!bundle.model().isEmpty() && !bundle.level().isEmpty());
            require(Bundle.libraryVersion().matches("\\d+\\.\\d+\\.\\d+"));
            require(bundle.toString().contains(bundle.level()));
        }
        try (Bundle bundle = Bundle.load(new File(directory), new BundleOptions().threads(1).verify(false))) {
            bundle.check(Request.text("Hello."));
        }
    }

    static void streamsInOnePassHaveTheSamplesOfTheWhole() {
        try (Bundle bundle = loaded()) {
            Request request = Request.text(TEXT).onePass(true).trim(false).seed(7);
            Audio whole = bundle.synthesize(request);
            List<Audio> heard = new ArrayList<>();
            List<Audio> taken = new ArrayList<>();
            require(bundle.stream(request, heard::add));
            for (Audio piece : bundle.stream(request)) taken.add(piece);
            require(Arrays.equals(whole.samples, joined(heard)) && Arrays.equals(whole.samples, joined(taken)));
            String words = whole.words.stream().map(word -> word.text).collect(Collectors.joining());
            require(words.equals(TEXT.replace(" ", "")));
            require(whole.tokens.size() + 2 == whole.durations.length && whole.lead == 0);
            require(whole.duration() == whole.samples.length / 24000.0);
            require(taken.size() > 1 && taken.get(1).start > 0 && heard.get(1).lead != 0);
        }
    }

    static void aFileHasTheSamplesOf16Bits() throws IOException {
        float[] samples = {0.5f, -0.5f, 2, -2, 1.5f / 32767, Float.NaN};
        require(Arrays.equals(Wav.pcm16(samples), new short[] {16384, -16384, 32767, -32767, 2, 0}));
        refused(ErrorCode.OUTPUT_ERROR, () -> Wav.header(1L << 31, 24_000));
        Path place = Files.createTempDirectory("kokoro-");
        try (Bundle bundle = loaded()) {
            Audio audio = bundle.synthesize(Request.text("Hello."));
            Path file = place.resolve("speech.wav");
            Files.write(file, new byte[] {1});
            audio.writeWav(file.toFile());
            byte[] written = Files.readAllBytes(file);
            require(Arrays.equals(Arrays.copyOf(written, 44), Wav.header(audio.samples.length, audio.sampleRate)));
            byte[] rest = Arrays.copyOfRange(written, 44, written.length);
            require(Arrays.equals(rest, Wav.bytes(audio.toPcm16())));
            refused(ErrorCode.OUTPUT_ERROR, () -> audio.writeWav(new File("/nowhere/speech.wav")));
            refused(ErrorCode.OUTPUT_ERROR, () -> audio.writeWav(place.toFile()));
            Files.delete(file);
        }
        // Nothing else is left in it.
        Files.delete(place);
    }

    static void aListenerEndsTheStream() {
        try (Bundle bundle = loaded()) {
            AtomicInteger count = new AtomicInteger();
            require(!bundle.stream(Request.text(LONG), piece -> count.incrementAndGet() < 2));
            require(count.get() == 2);
            try (Live live = bundle.live(new Request())) {
                live.push(TEXT);
                live.end();
                require(!live.stream(piece -> false));
                refused(ErrorCode.USAGE_ERROR, () -> live.push("more"));
            }
        }
    }

    static void whatAListenerThrowsComesOut() {
        try (Bundle bundle = loaded(); Live live = bundle.live(new Request())) {
            for (Throwable given : new Throwable[] {new IllegalStateException("of the app"), new Error("of the app")}) {
                require(thrown(() -> bundle.stream(Request.text(LONG), throwing(given))) == given);
            }
            live.push(TEXT);
            live.end();
            Error ofTheApp = new StackOverflowError();
            require(thrown(() -> live.stream(throwing(ofTheApp))) == ofTheApp);
            require(bundle.synthesize(Request.text("Still here.")).samples.length > 0);
            require(thrown(() -> bundle.stream(Request.text(TEXT), null)) instanceof NullPointerException);
        }
    }

    static void errorsHaveNamesAndMessages() {
        try (Bundle bundle = loaded()) {
            Request a = Request.phonemes("a");
            refused(ErrorCode.UNKNOWN_VOICE_ERROR, () -> bundle.synthesize(a.voice("x")));
            refused(ErrorCode.SPEED_ERROR, () -> bundle.synthesize(a.speed(0)));
            refused(ErrorCode.LOUDNESS_ERROR, () -> bundle.synthesize(a.loudness(0)));
            refused(ErrorCode.PAUSE_ERROR, () -> bundle.check(a.sentencePause(61)));
            refused(ErrorCode.EMPTY_INPUT_ERROR, () -> bundle.synthesize(Request.text("")));
            refused(ErrorCode.USAGE_ERROR, () -> bundle.check(new Request()));
            refused(ErrorCode.USAGE_ERROR, () -> bundle.check(new Request("a", "a")));
            refused(ErrorCode.UNKNOWN_PHONEMES_ERROR, () -> bundle.stream(Request.text("[Hello](/ж/)")));
            refused(ErrorCode.UNKNOWN_PHONEMES_ERROR, () -> bundle.stream(Request.text("[Hello](/ж/)"), piece -> true));
            refused(ErrorCode.USAGE_ERROR, () -> bundle.live(Request.text("a")));
        }
        BundleOptions pinned = new BundleOptions().manifestSha256("0".repeat(64));
        refused(ErrorCode.MANIFEST_DIGEST_ERROR, () -> Bundle.load(directory, pinned));
        refused(ErrorCode.THREADS_ERROR, () -> Bundle.load(directory, new BundleOptions().threads(-1)));
        refused(ErrorCode.USAGE_ERROR, () -> Bundle.load(directory, new BundleOptions().level("none")));
        refused(ErrorCode.ARGUMENT_TYPE_ERROR, () -> Bundle.load((String) null));
        KokoroException missing = refused(ErrorCode.MISSING_FILE_ERROR, () -> Bundle.load("/nowhere/😀"));
        require(missing.name().equals("MissingFileError") && missing.kind().equals("BundleError"));
        require(missing.toString().startsWith("MissingFileError: /nowhere/😀 is not a bundle"));
    }

    static void textIsUtf8() {
        try (Bundle bundle = loaded()) {
            Audio spoken = bundle.synthesize(Request.text("It is 😀."));
            require(spoken.words.get(2).text.equals("😀"));
            refused(ErrorCode.ARGUMENT_TYPE_ERROR, () -> bundle.check(Request.text("a\0b")));
            refused(ErrorCode.ARGUMENT_TYPE_ERROR, () -> bundle.check(Request.phonemes("a").voice("af_heart\0")));
            refused(ErrorCode.TEXT_ENCODING_ERROR, () -> bundle.check(Request.text("a\ud83d")));
            refused(ErrorCode.TEXT_ENCODING_ERROR, () -> bundle.check(Request.text("\ude00 a")));
            refused(ErrorCode.TEXT_ENCODING_ERROR, () -> Bundle.load("\ud83d"));
        }
    }

    static void threadsShareABundle() throws Exception {
        try (Bundle bundle = loaded()) {
            float[] alone = bundle.synthesize(Request.text(TEXT)).samples;
            List<FutureTask<Audio>> speaking = new ArrayList<>();
            for (int index = 0; index < 4; index++) {
                speaking.add(started(() -> bundle.synthesize(Request.text(TEXT))));
            }
            for (FutureTask<Audio> each : speaking) require(Arrays.equals(each.get().samples, alone));
        }
    }

    static void anotherThreadCancels() throws Exception {
        try (Bundle bundle = loaded()) {
            refused(ErrorCode.CANCELLED, () -> bundle.stream(Request.text(LONG), piece -> {
                finished(started(() -> {
                    bundle.cancel();
                    return true;
                }));
                return true;
            }));
            Pieces pieces = bundle.stream(Request.text(TEXT));
            pieces.next();
            bundle.cancel();
            refused(ErrorCode.CANCELLED, pieces::next);
            require(pieces.next() == null);
            require(bundle.synthesize(Request.text("Still here.")).samples.length > 0);
        }
    }

    static void aBundleIsClosedWhileOthersSpeak() throws Exception {
        Bundle bundle = loaded();
        CountDownLatch begun = new CountDownLatch(2);
        Pieces left = bundle.stream(Request.text(TEXT));
        FutureTask<Object> streaming = started(() -> bundle.stream(Request.text(LONG), piece -> {
            begun.countDown();
            return true;
        }));
        FutureTask<Object> taking = started(() -> {
            for (Audio piece : bundle.stream(Request.text(LONG))) begun.countDown();
            return true;
        });
        Live live = bundle.live(new Request());
        FutureTask<Object> waiting = started(() -> live.stream(piece -> true));
        begun.await();
        FutureTask<Boolean> closing = started(() -> {
            bundle.close();
            return true;
        });
        bundle.close();
        finished(closing);
        bundle.close();
        for (FutureTask<Object> each : List.of(streaming, taking, waiting)) {
            int code = ((KokoroException) failure(each)).code();
            require(code == ErrorCode.CANCELLED || code == ErrorCode.CLOSED_BUNDLE_ERROR);
        }
        refused(ErrorCode.CLOSED_BUNDLE_ERROR, () -> bundle.synthesize(Request.text("Gone.")));
        refused(ErrorCode.CLOSED_BUNDLE_ERROR, left::next);
        refused(ErrorCode.CLOSED_BUNDLE_ERROR, () -> live.push("Gone."));
        bundle.cancel();
        live.close();
        require(bundle.voices().contains("af_heart"));
    }

    static void aListenerClosesTheBundle() {
        Bundle bundle = loaded();
        refused(ErrorCode.CANCELLED, () -> bundle.stream(Request.text(LONG), piece -> {
            bundle.close();
            return true;
        }));
        refused(ErrorCode.CLOSED_BUNDLE_ERROR, () -> bundle.check(Request.text("Gone.")));
    }

    static void piecesAreClosed() throws Exception {
        try (Bundle bundle = loaded()) {
            Pieces pieces = bundle.stream(Request.text(LONG));
            CountDownLatch begun = new CountDownLatch(2);
            FutureTask<Object> taking = started(() -> {
                for (Audio piece : pieces) begun.countDown();
                return true;
            });
            begun.await();
            pieces.close();
            pieces.close();
            require(((KokoroException) failure(taking)).code() == ErrorCode.STREAM_CLOSED_ERROR);
            refused(ErrorCode.STREAM_CLOSED_ERROR, pieces::next);
            Pieces all = bundle.stream(Request.text("Hello."));
            while (all.next() != null) continue;
            require(all.next() == null && thrown(all.iterator()::next) instanceof NoSuchElementException);
            all.close();
        }
    }

    static void textMayArriveBitByBit() throws Exception {
        String text = TEXT + " It is 😀.";
        try (Bundle bundle = loaded(); Live live = bundle.live(new Request().voice("af_heart"))) {
            FutureTask<Boolean> pushing = started(() -> {
                // The halves of a character come apart.
                for (int index = 0; index < text.length(); index++) live.push(text.substring(index, index + 1));
                live.end();
                return true;
            });
            List<Audio> pushed = new ArrayList<>();
            require(live.stream(pushed::add));
            finished(pushing);
            refused(ErrorCode.USAGE_ERROR, () -> live.push("more"));
            try (Live single = bundle.live(new Request())) {
                single.push(text.substring(0, 40));
                List<Audio> taken = new ArrayList<>(single.pieces());
                require(!taken.isEmpty() && taken.size() < pushed.size());
                single.push(text.substring(40));
                single.end();
                taken.addAll(single.pieces());
                require(Arrays.equals(joined(pushed), joined(taken)));
            }
        }
    }

    static void aFlushHasAnOpenSentenceSpoken() {
        try (Bundle bundle = loaded(); Live live = bundle.live(new Request())) {
            live.push("Wait for");
            require(live.pieces().isEmpty());
            live.flush();
            require(!live.pieces().isEmpty());
            refused(ErrorCode.TEXT_ENCODING_ERROR, () -> live.push("\ude00"));
            live.push("\ud83d");
            refused(ErrorCode.TEXT_ENCODING_ERROR, live::end);
        }
    }

    static void aSpeechIsClosedWhileItWaits() throws Exception {
        try (Bundle bundle = loaded()) {
            Live live = bundle.live(new Request());
            live.push(TEXT);
            CountDownLatch begun = new CountDownLatch(1);
            FutureTask<Object> waiting = started(() -> live.stream(piece -> {
                begun.countDown();
                return true;
            }));
            begun.await();
            live.close();
            live.close();
            require(((KokoroException) failure(waiting)).code() == ErrorCode.CANCELLED);
            refused(ErrorCode.STREAM_CLOSED_ERROR, () -> live.push("Gone."));
            refused(ErrorCode.STREAM_CLOSED_ERROR, live::pieces);
        }
    }

    static void whatIsClosedLeavesNoMemory() throws IOException {
        long[] before = memory(20);
        long[] after = memory(100);
        require(after[0] == before[0], "mappings: " + before[0] + ", then " + after[0]);
        require(after[1] - before[1] < 20 << 10, "KiB: " + before[1] + ", then " + after[1]);
    }

    static void whatIsForgottenDoesNoHarm() {
        for (int round = 0; round < 3; round++) {
            Bundle bundle = loaded();
            bundle.stream(Request.text(TEXT)).next();
            bundle.live(new Request()).push(TEXT);
            bundle = null;
            System.gc();
        }
    }

    /** Loads, speaks and closes so often; returns how many files are mapped, and the KiB of this process. */
    private static long[] memory(int rounds) throws IOException {
        // A speech of 0.5 MB, so that a leak shows.
        String text = String.join(" ", Collections.nCopies(2, TEXT));
        for (int round = 0; round < rounds; round++) {
            try (Bundle bundle = loaded()) {
                bundle.synthesize(Request.text(text));
                bundle.stream(Request.text(text), piece -> true);
                for (Audio piece : bundle.stream(Request.text(text))) require(piece.samples.length > 0);
                try (Live live = bundle.live(new Request())) {
                    live.push(text);
                    live.pieces();
                }
            }
            System.gc();
        }
        long mapped;
        try (java.util.stream.Stream<String> lines = Files.lines(Paths.get("/proc/self/maps"))) {
            mapped = lines.filter(line -> line.contains(directory)).count();
        }
        for (String line : Files.readAllLines(Paths.get("/proc/self/status"))) {
            if (line.startsWith("RssAnon:")) return new long[] {mapped, Long.parseLong(line.replaceAll("\\D", ""))};
        }
        throw new AssertionError("no RssAnon");
    }

    private static Bundle loaded() {
        return Bundle.load(directory);
    }
}
