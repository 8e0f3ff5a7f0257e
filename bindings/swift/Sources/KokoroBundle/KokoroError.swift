import Kokoro

/// An error of a bundle, of its input or of this machine.
public struct KokoroError: Error, Sendable, CustomStringConvertible {
    /// The number in kokoro.h.
    public let number: Int
    /// What was expected, what was found and what to do.
    public let message: String

    /// The error of kokoro.h; nil if a newer library has one of its own.
    public var code: ErrorCode? { ErrorCode(rawValue: number) }

    /// The kind, which is enough for most apps: `usageError`, `inputError`, `bundleError`, `machineError` …
    public var kind: ErrorCode { ErrorCode(rawValue: number / 100 * 100) ?? .internalError }

    /// Its type, such as "UnknownVoiceError".
    public var name: String { (code ?? kind).name }

    public var description: String { "\(name): \(message)" }

    init(_ code: ErrorCode, _ message: String) {
        number = code.rawValue
        self.message = message
    }

    init(status: kokoro_error) {
        number = Int(status.rawValue)
        message = String(cString: kokoro_last_error())
    }
}

/// Throws the error of a call. The message is that of the calling thread, so nothing may come between.
func require(_ status: kokoro_error) throws {
    if status.rawValue != 0 { throw KokoroError(status: status) }
}
