import Dispatch
import Kokoro

/// A speech whose text is pushed, such as the tokens of a language model. Every thread may push.
public final class LiveSpeech: @unchecked Sendable {
    private let bundle: SpeechBundle
    // The library refuses a handle that was freed.
    private let handle: OpaquePointer

    init(_ bundle: SpeechBundle, _ request: Request) throws {
        self.bundle = bundle
        var opened: OpaquePointer?
        try request.made { try require(kokoro_live_open(bundle.handle, $0, &opened)) }
        handle = opened!
    }

    deinit { kokoro_live_free(handle) }

    /// Takes the next part of the text, cut anywhere. Computes nothing. A sentence, or the first clause, is spoken when
    /// the word after it shows that it is complete.
    public func push(_ text: String) throws {
        let strings = Strings()
        let pointer = try strings.pointer("text", text)
        try withExtendedLifetime(strings) { try require(kokoro_live_push(handle, pointer)) }
    }

    /// Has all that is there spoken, although its sentence may go on.
    public func flush() throws { try require(kokoro_live_flush(handle)) }

    /// Ends the text: what is there is the end of the speech.
    public func end() throws { try require(kokoro_live_end(handle)) }

    /// Returns the pieces, each as soon as it can be spoken, up to the end of the text. They are computed on another
    /// thread as the text comes. Who leaves the loop ends the speech.
    public func pieces() -> AsyncThrowingStream<Audio, Error> {
        AsyncThrowingStream { continuation in
            continuation.onTermination = { ending in
                if case .cancelled = ending { DispatchQueue.global().async { self.close() } }
            }
            DispatchQueue(label: "kokoro.bundle.live", qos: .userInitiated).async {
                continuation.finish(throwing: self.handOn(to: continuation))
            }
        }
    }

    /// Ends the speech, and waits for the stage that is computed; later calls throw `streamClosedError`.
    public func close() { kokoro_live_free(handle) }

    /// Hands pieces on until the end, and returns the error that ended them.
    private func handOn(to continuation: AsyncThrowingStream<Audio, Error>.Continuation) -> Error? {
        let listener = Listener(continuation)
        return withExtendedLifetime(listener) {
            let user = Unmanaged.passUnretained(listener).toOpaque()
            let status = kokoro_live_stream(handle, 1, { piece, user in
                let listener = Unmanaged<Listener>.fromOpaque(user!).takeUnretainedValue()
                if case .terminated = listener.continuation.yield(Audio(piece!.pointee)) { return 1 }
                return 0
            }, user)
            return status.rawValue == 0 ? nil : KokoroError(status: status)
        }
    }
}

private final class Listener {
    let continuation: AsyncThrowingStream<Audio, Error>.Continuation

    init(_ continuation: AsyncThrowingStream<Audio, Error>.Continuation) { self.continuation = continuation }
}
