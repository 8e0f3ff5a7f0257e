// Speaks text into a WAV file: Speak BUNDLE "Hello, world!" hello.wav
import Foundation
import KokoroBundle

@main
struct Speak {
    static func main() async {
        let arguments = CommandLine.arguments
        do {
            try await speak(arguments[1], arguments[2], URL(fileURLWithPath: arguments[3]))
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    static func speak(_ directory: String, _ text: String, _ file: URL) async throws {
        let bundle = try await SpeechBundle.load(directory)
        try bundle.check(Request(text: text))
        var samples = Data()
        for try await piece in bundle.stream(text: text) {
            print(String(format: "from %.2f s on: ", piece.start) + piece.phonemes)
            for sample in piece.pcm16 { append(UInt16(bitPattern: sample), to: &samples) }
        }
        try (header(samples.count) + samples).write(to: file)
    }

    static func header(_ bytes: Int) -> Data {
        var header = Data("RIFF".utf8)
        append(UInt32(bytes + 36), to: &header)
        header += Data("WAVEfmt ".utf8)
        append(UInt32(16), to: &header)
        for number: UInt16 in [1, 1] { append(number, to: &header) }
        for number: UInt32 in [24_000, 48_000] { append(number, to: &header) }
        for number: UInt16 in [2, 16] { append(number, to: &header) }
        header += Data("data".utf8)
        append(UInt32(bytes), to: &header)
        return header
    }

    static func append(_ number: some FixedWidthInteger, to data: inout Data) {
        withUnsafeBytes(of: number.littleEndian) { data.append(contentsOf: $0) }
    }
}
