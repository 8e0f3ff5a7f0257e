// Errors by type: each has the name of Python's and C's, and a message with what was expected, found and to do.

const NAMES = {
  100: "InternalError", 101: "ExecutionError", 102: "CancelledError",
  200: "UsageError", 201: "ArgumentTypeError", 202: "UnknownVoiceError", 203: "SpeedError", 204: "ThreadsError",
  205: "BlendError", 206: "PauseError", 207: "LanguageError", 208: "ClosedBundleError", 209: "LoudnessError",
  210: "StreamClosedError",
  300: "InputError", 301: "EmptyInputError", 302: "UnknownPhonemesError", 303: "TooManyPhonemesError",
  304: "UtteranceTooLongError", 305: "MarkupError", 306: "VoiceLanguageError", 307: "NoTextError",
  308: "TextEncodingError", 309: "MissingStagesError", 310: "NoLoudnessError",
  400: "BundleError", 401: "MissingFileError", 402: "UnreadableFileError", 403: "DamagedFileError",
  404: "ChangedFileError", 405: "NotRegularFileError", 406: "MsgpackError", 407: "ManifestError",
  408: "FormatVersionError", 409: "RequirementError", 410: "ManifestDigestError", 411: "ModelOutputError",
  412: "TextDataError", 413: "ScalesError",
  500: "MachineError", 501: "PlatformError", 502: "CpuLevelError", 503: "UnknownProcessorError",
  504: "TvmVersionError", 505: "LibraryLoadError", 506: "DeviceError", 507: "ResourceError", 508: "ForkError",
  600: "OutputError",
};
const KINDS = Object.fromEntries(Object.entries(NAMES).map(([code, name]) => [name, NAMES[Math.floor(code / 100) * 100]]));

/** Returns the name of a code of kokoro.h. */
export function errorName(code) {
  return NAMES[code] ?? NAMES[Math.floor(code / 100) * 100] ?? "InternalError";
}

/** An error of a bundle, of its input or of this machine. */
export class KokoroError extends Error {
  /**
   * @param name its type, such as "UnknownVoiceError"
   * @param message what was expected, what was found, and what to do
   */
  constructor(name, message) {
    super(message);
    this.name = name;
    /** The kind, which is enough for most apps: "UsageError", "InputError", "BundleError", "MachineError" … */
    this.kind = KINDS[name] ?? name;
  }
}
