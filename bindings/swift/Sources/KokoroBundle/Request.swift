import Kokoro

/// What is to be spoken, and how. What is not given has its default.
public struct Request: Sendable {
    /// Text of any length; nil if there are phonemes.
    public var text: String?
    /// Phonemes of any length; nil if there is text.
    public var phonemes: String?
    /// A name, or a blend such as "af_heart*0.7+am_adam*0.3".
    public var voice: String?
    /// From 0.25 to 4.
    public var speed = 1.0
    /// The language of the text, such as "en-us"; nil takes that of the voice.
    public var language: String?
    /// Of the noise in unvoiced sounds; equal seeds give equal samples.
    public var seed: UInt64 = 0
    /// The text is an SSML document.
    public var ssml = false
    /// Leave emoji out of English text.
    public var skipEmoji = false
    /// Shorten the silence at the ends; nil does so in streams alone.
    public var trim: Bool?
    /// Seconds of silence to add after each sentence but the last.
    public var sentencePause = 0.0
    /// The same after clauses that do not end a sentence.
    public var clausePause = 0.0
    /// Seconds of silence at the end where it is trimmed; nil means 0.3.
    public var endPause: Double?
    /// LUFS to which a fixed gain brings each voice, such as -18; nil leaves the level of the model.
    public var loudness: Double?
    /// False leaves speeds to the model.
    public var stretch = true
    /// A stream divides what it speaks no further than the whole speech.
    public var onePass = false

    /// Makes a request of a text or of phonemes; one for text that arrives bit by bit has neither.
    public init(
        text: String? = nil, phonemes: String? = nil, voice: String? = nil, speed: Double = 1,
        language: String? = nil
    ) {
        self.text = text
        self.phonemes = phonemes
        self.voice = voice
        self.speed = speed
        self.language = language
    }

    /// Calls a function with the request as C has it.
    func made<Result>(_ body: (UnsafePointer<kokoro_request>) throws -> Result) throws -> Result {
        let strings = Strings()
        var made = kokoro_request()
        made.size = MemoryLayout<kokoro_request>.size
        made.text = try strings.pointer("text", text)
        made.phonemes = try strings.pointer("phonemes", phonemes)
        made.voice = try strings.pointer("voice", voice)
        made.language = try strings.pointer("language", language)
        made.speed = notZero(speed)
        made.seed = seed
        made.ssml = ssml ? 1 : 0
        made.skip_emoji = skipEmoji ? 1 : 0
        made.trim = trim.map { $0 ? 1 : -1 } ?? 0
        made.sentence_pause = sentencePause
        made.clause_pause = clausePause
        made.end_pause = endPause.map { $0 == 0 ? -1 : $0 } ?? 0
        made.loudness = loudness.map(notZero) ?? 0
        made.no_stretch = stretch ? 0 : 1
        made.one_pass = onePass ? 1 : 0
        return try withExtendedLifetime(strings) { try body(&made) }
    }
}

/// Zero is C's default, and here a number as any other.
private func notZero(_ number: Double) -> Double { number == 0 ? .leastNonzeroMagnitude : number }

/// Strings of C, which live as long as this object.
final class Strings {
    private var held: [UnsafeMutablePointer<CChar>] = []

    func pointer(_ name: String, _ text: String?) throws -> UnsafePointer<CChar>? {
        guard let text else { return nil }
        let bytes = text.utf8CString
        if bytes.dropLast().contains(0) {
            throw KokoroError(.usageError, "The argument '\(name)' must have no character of the code 0.")
        }
        let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
        for (index, byte) in bytes.enumerated() { (copy + index).initialize(to: byte) }
        held.append(copy)
        return UnsafePointer(copy)
    }

    deinit { for each in held { each.deallocate() } }
}
