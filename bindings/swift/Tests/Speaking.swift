// What an app may rely on. Arguments: a bundle, and a name of a check.
import Foundation
import KokoroBundle

let text = "One sentence is here. Another one follows it, and it is longer. The third one ends it."
let long = Array(repeating: text, count: 10_000).joined(separator: " ")

struct Failed: Error, CustomStringConvertible {
    let description: String
}

func require(_ holds: Bool, _ line: Int = #line) throws {
    if !holds { throw Failed(description: "line \(line)") }
}

func refused(_ code: ErrorCode, _ line: Int = #line, _ body: () async throws -> Void) async throws {
    do {
        try await body()
    } catch let error as KokoroError {
        if error.code != code { throw Failed(description: "line \(line): \(error)") }
        return
    }
    throw Failed(description: "line \(line): nothing was refused")
}

@main
struct Speaking {
    static let directory = CommandLine.arguments[1]
    static var checks: [String: () async throws -> Void] {
        [
            "tells": tells, "wholes": wholes, "errors": errors, "leaves": leaves, "cancels": cancels,
            "closes": closes, "frees": frees, "arrives": arrives, "interrupts": interrupts, "rounds": rounds,
        ]
    }

    static func main() async throws {
        let name = CommandLine.arguments[2]
        try await checks[name]!()
        print("passed: \(name)")
    }

    static func tells() async throws {
        let bundle = try SpeechBundle(path: directory)
        try require(bundle.voices.contains("af_heart") && bundle.isSynthetic && bundle.maxPhonemes == 20)
        try require(!bundle.model.isEmpty && !bundle.level.isEmpty && SpeechBundle.libraryVersion.contains("."))
        var options = LoadOptions()
        (options.threads, options.verify) = (1, false)
        try SpeechBundle(path: directory, options: options).check(Request(text: "Hello."))
    }

    static func wholes() async throws {
        let bundle = try await SpeechBundle.load(directory)
        var request = Request(text: text)
        (request.onePass, request.trim, request.seed) = (true, false, 7)
        let whole = try await bundle.synthesize(request)
        var samples: [Float] = []
        var starts: [Double] = []
        for try await piece in bundle.stream(request) {
            starts.append(piece.start)
            samples += piece.samples
        }
        try require(whole.samples == samples && starts.count > 1 && starts[0] == 0 && starts[1] > 0)
        try require(whole.words.map(\.text).joined() == text.replacingOccurrences(of: " ", with: ""))
        try require(whole.tokens.count + 2 == whole.durations.count && whole.sampleRate == 24_000)
        try require(whole.duration == Double(whole.samples.count) / 24_000)
        let spoken = try await bundle.synthesize(phonemes: "abc")
        try require(spoken.phonemes == "abc" && spoken.words.isEmpty)
    }

    static func errors() async throws {
        try await refused(.missingFileError) { _ = try await SpeechBundle.load("/nowhere") }
        var pinned = LoadOptions()
        pinned.manifestSHA256 = String(repeating: "0", count: 64)
        try await refused(.manifestDigestError) { _ = try SpeechBundle(path: directory, options: pinned) }
        let bundle = try await SpeechBundle.load(directory)
        try await refused(.unknownVoiceError) { _ = try await bundle.synthesize(phonemes: "a", voice: "nobody") }
        try await refused(.speedError) { _ = try await bundle.synthesize(text: "a", speed: 0) }
        try await refused(.usageError) { _ = try await bundle.synthesize(text: "a\0b") }
        try await refused(.usageError) { try bundle.check(Request()) }
        try await refused(.emptyInputError) { for try await _ in bundle.stream(text: " ") {} }
        do {
            _ = try await bundle.synthesize(phonemes: "¬")
        } catch let error as KokoroError {
            try require(error.name == "UnknownPhonemesError" && error.kind == .inputError)
            try require("\(error)".hasPrefix("UnknownPhonemesError: ") && error.message.contains("¬"))
        }
    }

    static func leaves() async throws {
        let bundle = try await SpeechBundle.load(directory)
        var count = 0
        for try await _ in bundle.stream(text: long) {
            count += 1
            if count == 2 { break }
        }
        let task = Task {
            var count = 0
            for try await _ in bundle.stream(text: long) { count += 1 }
            return count
        }
        try await Task.sleep(nanoseconds: 50_000_000)
        task.cancel()
        try require(try await task.value < 10_000)
        try require(try await bundle.synthesize(text: "Hello.").samples.count > 0)
    }

    static func cancels() async throws {
        let bundle = try await SpeechBundle.load(directory)
        try await refused(.cancelledError) {
            for try await _ in bundle.stream(text: long) { bundle.cancel() }
        }
        let whole = Task { try await bundle.synthesize(text: long) }
        // On a busy machine the call may begin later.
        let cancelling = Task {
            while true {
                try await Task.sleep(nanoseconds: 50_000_000)
                bundle.cancel()
            }
        }
        try await refused(.cancelledError) { _ = try await whole.value }
        cancelling.cancel()
    }

    static func closes() async throws {
        let bundle = try await SpeechBundle.load(directory)
        let live = try bundle.live()
        let task = Task { for try await _ in bundle.stream(text: long) {} }
        try await Task.sleep(nanoseconds: 50_000_000)
        bundle.close()
        bundle.close()
        do { try await task.value } catch let error as KokoroError {
            try require([.cancelledError, .closedBundleError].contains(error.code))
        }
        try await refused(.closedBundleError) { _ = try await bundle.synthesize(text: "a") }
        try await refused(.closedBundleError) { try live.push("a") }
        live.close()
        try await refused(.streamClosedError) { try live.push("a") }
    }

    static func frees() async throws {
        weak var bundle: SpeechBundle?
        do {
            let held = try await SpeechBundle.load(directory)
            bundle = held
            for try await _ in held.stream(text: long) { break }
            let live = try held.live()
            try live.push(text)
            for try await _ in live.pieces() { break }
        }
        // Threads of the package let it go when what they compute is over.
        for _ in 0..<200 where bundle != nil { try await Task.sleep(nanoseconds: 20_000_000) }
        try require(bundle == nil)
    }

    static func arrives() async throws {
        let bundle = try await SpeechBundle.load(directory)
        let live = try bundle.live(Request(voice: "am_adam"))
        let told = Task {
            for character in text {
                try live.push(String(character))
                await Task.yield()
            }
            try live.flush()
            try live.end()
        }
        var words: [String] = []
        for try await piece in live.pieces() { words += piece.words.map(\.text) }
        try await told.value
        try require(words.joined() == text.replacingOccurrences(of: " ", with: ""))
        try await refused(.usageError) { try live.push("more") }
        try await refused(.usageError) { _ = try bundle.live(Request(text: "a")) }
    }

    static func interrupts() async throws {
        let bundle = try await SpeechBundle.load(directory)
        let live = try bundle.live()
        // It waits for text that never comes.
        let task = Task { for try await _ in live.pieces() {} }
        try await Task.sleep(nanoseconds: 50_000_000)
        task.cancel()
        _ = try? await task.value
        for _ in 0..<200 {
            do { try live.push("a") } catch let error as KokoroError {
                return try require(error.code == .streamClosedError)
            }
            try await Task.sleep(nanoseconds: 20_000_000)
        }
        throw Failed(description: "the speech goes on")
    }

    static func rounds() async throws {
        let bundle = try await SpeechBundle.load(directory)
        let audio = try await bundle.synthesize(text: "Hello.")
        try require(audio.pcm16.count == audio.samples.count && audio.pcm16.contains { $0 != 0 })
        try require(ErrorCode.allCases.allSatisfy { $0.name.hasSuffix("Error") })
    }
}
