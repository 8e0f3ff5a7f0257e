package kokoro.bundle;

/** How to load a bundle. Options do not change: each method returns others. */
public final class BundleOptions {
    final int threads;
    final boolean verify;
    final String level;
    final String arithmetic;
    final String manifestSha256;

    /** The defaults. */
    public BundleOptions() {
        this(0, true, null, null, null);
    }

    private BundleOptions(int threads, boolean verify, String level, String arithmetic, String manifestSha256) {
        this.threads = threads;
        this.verify = verify;
        this.level = level;
        this.arithmetic = arithmetic;
        this.manifestSha256 = manifestSha256;
    }

    /** Number of threads that compute; by default TVM_NUM_THREADS, or else all cores of this process. */
    public BundleOptions threads(int threads) {
        return new BundleOptions(threads, verify, level, arithmetic, manifestSha256);
    }

    /** False compares libraries and voices as they are read, and nothing else. */
    public BundleOptions verify(boolean verify) {
        return new BundleOptions(threads, verify, level, arithmetic, manifestSha256);
    }

    /** The only CPU level to use; by default the best of this processor. */
    public BundleOptions level(String level) {
        return new BundleOptions(threads, verify, level, arithmetic, manifestSha256);
    }

    /** In place of level: arithmetic of the decoder, such as "bfloat16", if the bundle has it; by default float32. */
    public BundleOptions arithmetic(String arithmetic) {
        return new BundleOptions(threads, verify, level, arithmetic, manifestSha256);
    }

    /** Digest that the manifest must have: pins this very bundle. */
    public BundleOptions manifestSha256(String manifestSha256) {
        return new BundleOptions(threads, verify, level, arithmetic, manifestSha256);
    }
}
