import Dispatch
import Kokoro

/// How a bundle is loaded.
public struct LoadOptions: Sendable {
    /// Number of threads; 0 takes all cores.
    public var threads = 0
    /// Compare all files before anything of them is used.
    public var verify = true
    /// The only CPU level to use; nil takes the best of this processor.
    public var level: String?
    /// The digest that the manifest must have: pins this very bundle.
    public var manifestSHA256: String?
    /// Arithmetic of the decoder, such as "bfloat16".
    public var arithmetic: String?

    public init() {}
}

/// A bundle that speaks. Every thread may use it; calls on one bundle take turns.
public final class SpeechBundle: @unchecked Sendable {
    // The library refuses a handle that was freed.
    let handle: OpaquePointer
    /// The name of the model.
    public let model: String
    /// True if the weights are random and the bundle babbles; an app then tells its user.
    public let isSynthetic: Bool
    /// The CPU level in use.
    public let level: String
    /// The most phonemes that are spoken at once; longer input is split.
    public let maxPhonemes: Int
    /// The names of the voices.
    public let voices: [String]

    /// The version of the library, such as "0.1.0".
    public static var libraryVersion: String { String(cString: kokoro_version()) }

    /// Verifies and loads the bundle in a directory, which takes a part of a second; `load` does so elsewhere.
    public init(path: String, options: LoadOptions = LoadOptions()) throws {
        let strings = Strings()
        var made = kokoro_options()
        made.size = MemoryLayout<kokoro_options>.size
        made.threads = Int32(clamping: options.threads)
        made.skip_verify = options.verify ? 0 : 1
        made.level = try strings.pointer("level", options.level)
        made.manifest_sha256 = try strings.pointer("manifestSHA256", options.manifestSHA256)
        made.arithmetic = try strings.pointer("arithmetic", options.arithmetic)
        let directory = try strings.pointer("path", path)
        var loaded: OpaquePointer?
        try withExtendedLifetime(strings) { try require(kokoro_load(directory, &made, &loaded)) }
        let handle = loaded!
        self.handle = handle
        model = String(cString: kokoro_model_name(handle))
        isSynthetic = kokoro_is_synthetic(handle) != 0
        level = String(cString: kokoro_level(handle))
        maxPhonemes = kokoro_max_phonemes(handle)
        voices = (0..<kokoro_voice_count(handle)).map { String(cString: kokoro_voice_name(handle, $0)) }
    }

    deinit { kokoro_free(handle) }

    /// Verifies and loads the bundle in a directory, on another thread.
    public static func load(_ path: String, options: LoadOptions = LoadOptions()) async throws -> SpeechBundle {
        try await elsewhere { try SpeechBundle(path: path, options: options) }
    }

    /// Throws the error that `synthesize` would throw before it computes.
    public func check(_ request: Request) throws {
        try request.made { try require(kokoro_check(handle, $0)) }
    }

    /// Speaks the whole input, on another thread. `cancel` ends it; a cancelled task waits for it.
    public func synthesize(_ request: Request) async throws -> Audio {
        try await elsewhere { try self.whole(request) }
    }

    /// Speaks a whole text.
    public func synthesize(
        text: String, voice: String? = nil, speed: Double = 1, language: String? = nil
    ) async throws -> Audio {
        try await synthesize(Request(text: text, voice: voice, speed: speed, language: language))
    }

    /// Speaks phonemes.
    public func synthesize(phonemes: String, voice: String? = nil, speed: Double = 1) async throws -> Audio {
        try await synthesize(Request(phonemes: phonemes, voice: voice, speed: speed))
    }

    /// Returns the pieces of a speech: the first is a clause or a few words, later ones grow. While a piece is heard the
    /// next one is computed, on another thread. Who leaves the loop ends the speech.
    public func stream(_ request: Request) -> AsyncThrowingStream<Audio, Error> {
        let reader = PieceReader(self, request)
        return AsyncThrowingStream { try await reader.next() }
    }

    /// Returns the pieces of a text.
    public func stream(
        text: String, voice: String? = nil, speed: Double = 1, language: String? = nil
    ) -> AsyncThrowingStream<Audio, Error> {
        stream(Request(text: text, voice: voice, speed: speed, language: language))
    }

    /// Opens a speech whose text arrives bit by bit. The request has neither text nor phonemes.
    public func live(_ request: Request = Request()) throws -> LiveSpeech {
        try LiveSpeech(self, request)
    }

    /// Ends all calls on the bundle that are running or waiting, with the error `cancelledError`.
    public func cancel() { kokoro_cancel(handle) }

    /// Ends all calls on the bundle, waits for them, and frees it; later calls throw `closedBundleError`. A bundle that
    /// nobody holds is freed too.
    public func close() { kokoro_free(handle) }

    private func whole(_ request: Request) throws -> Audio {
        var audio: UnsafeMutablePointer<kokoro_audio>?
        try request.made { try require(kokoro_synthesize(handle, $0, &audio)) }
        defer { kokoro_audio_free(audio) }
        return Audio(audio!.pointee)
    }
}

/// Runs what takes long on a thread that no task waits for.
func elsewhere<Made: Sendable>(_ make: @escaping @Sendable () throws -> Made) async throws -> Made {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global(qos: .userInitiated).async { continuation.resume(with: Result(catching: make)) }
    }
}
