// How the checks state what they expect.
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import kokoro.bundle.Audio;
import kokoro.bundle.KokoroException;
import kokoro.bundle.Listener;

class Checks {
    static void require(boolean condition) {
        require(condition, "as the trace tells");
    }

    static void require(boolean condition, String message) {
        if (!condition) throw new AssertionError(message);
    }

    static Throwable thrown(Callable<?> call) {
        try {
            call.call();
        } catch (Throwable error) {
            return error;
        }
        throw new AssertionError("nothing was thrown");
    }

    static KokoroException refused(int code, Callable<?> call) {
        Throwable found = thrown(call);
        require(found instanceof KokoroException, found.toString());
        KokoroException error = (KokoroException) found;
        require(error.code() == code && error.getMessage().length() > 20, error.toString());
        return error;
    }

    static KokoroException refused(int code, Runnable call) {
        return refused(code, () -> {
            call.run();
            return null;
        });
    }

    static <Result> FutureTask<Result> started(Callable<Result> call) {
        FutureTask<Result> task = new FutureTask<>(call);
        new Thread(task).start();
        return task;
    }

    static void finished(FutureTask<Boolean> task) {
        try {
            require(task.get());
        } catch (Exception error) {
            throw new AssertionError(error);
        }
    }

    static Throwable failure(FutureTask<?> task) {
        return thrown(task::get).getCause();
    }

    static Listener throwing(Throwable error) {
        return piece -> {
            if (error instanceof Error) throw (Error) error;
            throw (RuntimeException) error;
        };
    }

    static float[] joined(List<Audio> pieces) {
        float[] all = new float[pieces.stream().mapToInt(piece -> piece.samples.length).sum()];
        int at = 0;
        for (Audio piece : pieces) {
            System.arraycopy(piece.samples, 0, all, at, piece.samples.length);
            at += piece.samples.length;
        }
        return all;
    }
}
