/** A phoneme or a word, with its time in seconds from the beginning of the whole speech. */
export interface Timing {
  text: string;
  start: number;
  end: number;
}

/** Speech, or a piece of it. */
export interface Audio {
  /** Mono, at `sampleRate`; full scale is 1, not clipped. */
  samples: Float32Array;
  sampleRate: 24000;
  /** Seconds from the beginning of the whole speech. */
  start: number;
  phonemes: string;
  tokens: Timing[];
  words: Timing[];
  /** Frames of 600 samples of each token, boundaries included. */
  durations: number[];
}

/** Options of a speech; those of Python's `Bundle.synthesize`. */
export interface SpeechOptions {
  /** A name, or a blend such as "af_heart*0.7+am_adam*0.3"; by default "af_heart". */
  voice?: string;
  /** From 0.25 to 4; 1 by default. */
  speed?: number;
  /** Of the noise in unvoiced sounds, from 0 to 2**64 - 1; equal seeds give equal samples. */
  seed?: number | bigint | string;
  /** Phonemes in place of text. */
  phonemes?: string;
  /** The text is an SSML document. */
  ssml?: boolean;
  /** Phonemes by word, for plain text. A key in small letters stands for all spellings. */
  lexicon?: Record<string, string>;
  /** Leave emoji out. */
  skipEmoji?: boolean;
  /** Such as "en-us" or "es-MX"; by default that of the voice. */
  language?: string;
  /** Seconds of silence after sentences, and after clauses. */
  sentencePause?: number;
  clausePause?: number;
  /** Shorten the silence at both ends; the default of streams. */
  trim?: boolean;
  /** Seconds of silence at the end where it is trimmed; 0.3 by default. */
  endPause?: number;
  /** LUFS, such as -18. */
  loudness?: number;
  /** False leaves speeds to the model. */
  stretch?: boolean;
  /** Divide a stream no further than `synthesize` does. */
  onePass?: boolean;
  /** Rejects at once with the signal's reason. The thread stops at the next kernel, without shared memory after the piece. */
  signal?: AbortSignal;
}

/** Among the parts of a text that arrives bit by bit: speak what is there. */
export declare const FLUSH: unique symbol;

export interface LoadOptions {
  onProgress?: (progress: { loaded: number; total: number }) => void;
  /** Digest that the manifest must have: pins this very bundle. */
  manifestSha256?: string;
  /** False keeps nothing in the browser's cache. */
  cache?: boolean;
  /** From 1 to 64; by default one for each core, at most 8. A page without shared memory has one. */
  threads?: number;
  /** Runs the stages unheard, so that the engine has compiled them; false loads sooner, and the first speech is slow. */
  warmUp?: boolean;
  signal?: AbortSignal;
}

export declare class Bundle {
  /** Loads the bundle in a directory of a server; in Node also of a path. */
  static load(source: string | URL, options?: LoadOptions): Promise<Bundle>;
  readonly voices: string[];
  readonly model: string;
  /** True if the weights are random and the bundle babbles. */
  readonly synthetic: boolean;
  readonly maxPhonemes: number;
  /** Number of threads that compute. */
  readonly threads: number;
  synthesize(text: string | null | undefined, options?: SpeechOptions): Promise<Audio>;
  stream(
    text: string | null | undefined | Iterable<string | typeof FLUSH> | AsyncIterable<string | typeof FLUSH>,
    options?: SpeechOptions,
  ): AsyncGenerator<Audio, void, void>;
  close(): void;
}

/** An error of a bundle, of its input or of this machine. */
export declare class KokoroError extends Error {
  /** Its type, such as "UnknownVoiceError". */
  name: string;
  /** Such as "UsageError", "InputError", "BundleError" or "MachineError". */
  kind: string;
}

export interface PlayerOptions {
  onWord?: (word: Timing | null) => void;
  onUnderrun?: (seconds: number) => void;
  context?: AudioContext;
}

/** Plays the pieces of a stream, from the first one on. */
export declare class Player {
  constructor(options?: PlayerOptions);
  readonly context: AudioContext;
  underruns: number;
  play(pieces: Iterable<Audio> | AsyncIterable<Audio>): Promise<void>;
  stop(): void;
}

/** Returns the bytes of a WAV file of 16 bits. */
export declare function encodeWav(samples: Float32Array, sampleRate?: number): Uint8Array;
