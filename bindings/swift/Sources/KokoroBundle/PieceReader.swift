import Dispatch
import Kokoro

/// The pieces of one speech, computed on a thread of its own: the one that is asked for, and then the next.
final class PieceReader: @unchecked Sendable {
    private let bundle: SpeechBundle
    private let request: Request
    // What follows is used on this queue alone.
    private let queue = DispatchQueue(label: "kokoro.bundle.pieces", qos: .userInitiated)
    private var pieces: OpaquePointer?
    private var ahead: Result<Audio?, Error>?
    private var isOver = false

    init(_ bundle: SpeechBundle, _ request: Request) {
        self.bundle = bundle
        self.request = request
    }

    deinit { kokoro_pieces_free(pieces) }

    /// Returns the next piece, and nil after the last one.
    func next() async throws -> Audio? {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { [self] in
                continuation.resume(with: ahead ?? computed())
                ahead = computed()
            }
        }
    }

    private func computed() -> Result<Audio?, Error> {
        if isOver { return .success(nil) }
        let made = Result { try taken() }
        if case .success(.some) = made { return made }
        isOver = true
        return made
    }

    private func taken() throws -> Audio? {
        if pieces == nil { try request.made { try require(kokoro_pieces_open(bundle.handle, $0, &pieces)) } }
        var audio: UnsafeMutablePointer<kokoro_audio>?
        try require(kokoro_pieces_next(pieces, &audio))
        defer { kokoro_audio_free(audio) }
        return audio.map { Audio($0.pointee) }
    }
}
