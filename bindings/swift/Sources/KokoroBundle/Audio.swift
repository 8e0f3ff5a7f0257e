import Kokoro

/// A phoneme or a word, and its time.
public struct Timing: Sendable, Equatable {
    /// A phoneme, or a word as the reader sees it.
    public let text: String
    /// Seconds from the beginning of the whole speech.
    public let start, end: Double
}

/// Speech, or a piece of it.
public struct Audio: Sendable {
    /// Mono; full scale is 1, and nothing is clipped.
    public let samples: [Float]
    /// 24,000 Hz.
    public let sampleRate: Int
    /// Seconds from the beginning of the whole speech.
    public let start: Double
    public let phonemes: String
    /// One for each phoneme.
    public let tokens: [Timing]
    /// Those of text.
    public let words: [Timing]
    /// Frames of 600 samples of each token, boundaries included.
    public let durations: [Int64]
    /// Seconds by which a piece came before those before it were over; below 0 it is a gap.
    public let lead: Double

    /// The length in seconds.
    public var duration: Double { Double(samples.count) / Double(sampleRate) }

    /// Samples of 16 bits, rounded as in the library's own files: a half to the even number.
    public var pcm16: [Int16] {
        samples.map { sample in
            let clipped = sample.isNaN ? 0 : min(max(sample, -1), 1)
            return Int16((clipped * 32767).rounded(.toNearestOrEven))
        }
    }

    /// Copies what the library has made.
    init(_ made: kokoro_audio) {
        samples = copied(made.samples, made.sample_count)
        sampleRate = Int(made.sample_rate)
        start = made.start
        phonemes = String(cString: made.phonemes)
        tokens = copied(made.tokens, made.token_count).map(Timing.init)
        words = copied(made.words, made.word_count).map(Timing.init)
        durations = copied(made.durations, made.duration_count)
        lead = made.lead
    }
}

extension Timing {
    init(_ made: kokoro_timing) {
        self.init(text: String(cString: made.text), start: made.start, end: made.end)
    }
}

private func copied<Element>(_ first: UnsafePointer<Element>?, _ count: Int) -> [Element] {
    Array(UnsafeBufferPointer(start: first, count: count))
}
