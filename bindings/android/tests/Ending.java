// Ends the process while one thread streams, another takes pieces, and a third waits for text.
import java.util.Collections;
import java.util.concurrent.CountDownLatch;
import kokoro.bundle.Audio;
import kokoro.bundle.Bundle;
import kokoro.bundle.Live;
import kokoro.bundle.Request;

final class Ending {
    public static void main(String[] arguments) throws InterruptedException {
        // A thread that went on to the end of this text would need hours.
        Request request = Request.text(String.join(" ", Collections.nCopies(100_000, "One sentence is here.")));
        Bundle bundle = Bundle.load(arguments[0]);
        CountDownLatch begun = new CountDownLatch(6);
        new Thread(() -> bundle.stream(request, piece -> {
            begun.countDown();
            return true;
        })).start();
        new Thread(() -> {
            for (Audio piece : bundle.stream(request)) begun.countDown();
        }).start();
        Live live = bundle.live(new Request());
        new Thread(() -> live.stream(piece -> true)).start();
        begun.await();
        System.exit(3);
    }
}
