// Prints speech for a comparison with Python: a line for each piece, with an empty line after each speech.
import Foundation
import KokoroBundle

@main
struct Compared {
    /// Arguments: a bundle, text, phonemes, and the numbers of code points after which to cut text that arrives.
    static func main() async throws {
        let (directory, text, phonemes) = (CommandLine.arguments[1], CommandLine.arguments[2], CommandLine.arguments[3])
        let bundle = try await SpeechBundle.load(directory)
        let manner = Request(voice: "af_heart*0.7+am_adam*0.3", speed: 1.2)
        var seeded = Request(text: text, voice: manner.voice, speed: manner.speed)
        (seeded.seed, seeded.stretch) = (.max, false)
        (seeded.sentencePause, seeded.clausePause) = (0.1, 0.2)
        print([try await bundle.synthesize(seeded)])
        var trimmed = Request(phonemes: phonemes)
        (trimmed.trim, trimmed.endPause) = (true, 0)
        print([try await bundle.synthesize(trimmed)])
        var paused = Request(text: text)
        paused.endPause = 0.4
        print(try await all(bundle.stream(paused)))
        var once = Request(text: text, language: "es")
        (once.trim, once.onePass) = (false, true)
        print(try await all(bundle.stream(once)))
        for size in CommandLine.arguments[4].split(separator: ",") {
            let live = try bundle.live(manner)
            let scalars = Array(text.unicodeScalars)
            for from in stride(from: 0, to: scalars.count, by: Int(size)!) {
                var part = String.UnicodeScalarView()
                part.append(contentsOf: scalars[from..<min(from + Int(size)!, scalars.count)])
                try live.push(String(part))
            }
            try live.end()
            print(try await all(live.pieces()))
        }
    }

    static func all(_ stream: AsyncThrowingStream<Audio, Error>) async throws -> [Audio] {
        try await stream.reduce(into: []) { $0.append($1) }
    }

    static func print(_ pieces: [Audio]) {
        for piece in pieces {
            let samples = piece.samples.withUnsafeBytes { Data($0).base64EncodedString() }
            let durations = piece.durations.map(String.init).joined(separator: " ")
            let line = [samples, piece.phonemes, "\(piece.start)", times(piece.tokens), times(piece.words), durations]
            Swift.print(line.joined(separator: "\t"))
        }
        Swift.print()
    }

    static func times(_ timings: [Timing]) -> String {
        timings.map { "\($0.text)\u{1}\($0.start)\u{1}\($0.end)" }.joined(separator: "\u{2}")
    }
}
