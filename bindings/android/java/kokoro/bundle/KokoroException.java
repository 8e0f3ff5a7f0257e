package kokoro.bundle;

/** An error of a bundle, of its input or of this machine. */
public final class KokoroException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final int code;

    KokoroException(int code, String message) {
        super(message);
        this.code = code;
    }

    /** Takes the message of the library; kokoro_jni.c calls this. */
    KokoroException(int code, byte[] message) {
        this(code, Text.decoded(message));
    }

    /** Returns the number in kokoro.h, which {@link ErrorCode} names. */
    public int code() {
        return code;
    }

    /** Returns its type, such as "UnknownVoiceError"; that of its kind if a newer library has a type of its own. */
    public String name() {
        String name = ErrorCode.nameOf(code);
        return name != null ? name : kind();
    }

    /** Returns the kind, which is enough for most apps: "UsageError", "InputError", "BundleError", "MachineError" … */
    public String kind() {
        String kind = ErrorCode.nameOf(code / 100 * 100);
        return kind != null ? kind : "InternalError";
    }

    @Override
    public String toString() {
        return name() + ": " + getMessage();
    }
}
