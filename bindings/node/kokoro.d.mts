/// <reference lib="esnext.disposable" />

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
  sampleRate: number;
  /** Seconds from the beginning of the whole speech. */
  start: number;
  phonemes: string;
  tokens: Timing[];
  words: Timing[];
  /** Frames of 600 samples of each token, boundaries included. */
  durations: number[];
  /** Seconds by which a piece came before those before it were over; below 0: a gap of so many seconds. */
  lead: number;
}

/** Options of a speech; those of Python's `Bundle.synthesize`. */
export interface SpeechOptions {
  /** Phonemes in place of text. */
  phonemes?: string | null;
  /** A name, or a blend such as "af_heart*0.7+am_adam*0.3"; by default "af_heart". */
  voice?: string | null;
  /** From 0.25 to 4; 1 by default. */
  speed?: number;
  /** Of the noise in unvoiced sounds, from 0 to 2**64 - 1; equal seeds give equal samples. */
  seed?: number | bigint | string;
  /** The text is an SSML document. */
  ssml?: boolean;
  /** Leave emoji out. */
  skipEmoji?: boolean;
  /** Such as "en-us" or "es-MX"; by default that of the voice. */
  language?: string | null;
  /** Seconds of silence after each sentence but the last, 0 to 60. */
  sentencePause?: number;
  /** The same after clauses that do not end a sentence. */
  clausePause?: number;
  /** Shorten the silence at both ends; the default of streams. */
  trim?: boolean;
  /** Seconds of silence at the end where it is trimmed; 0.3 by default. */
  endPause?: number;
  /** LUFS to which a fixed gain brings each voice, such as -18; null leaves the level of the model. */
  loudness?: number | null;
  /** False leaves speeds to the model. */
  stretch?: boolean;
  /** Divide a stream no further than `synthesize` does. */
  onePass?: boolean;
  /** Begin a stream late enough that a slow machine makes no gaps. */
  steady?: boolean;
  /** Rejects at once with the signal's reason; the library stops before the next piece. */
  signal?: AbortSignal;
}

/** Among the parts of a text that arrives bit by bit: speak what is there. */
export declare const FLUSH: unique symbol;

export interface LoadOptions {
  /** Path of the C library; by default the bundle's own, in its directory `native`, which runs unchecked. */
  library?: string;
  /** Number of threads that compute; by default TVM_NUM_THREADS, or else all cores of this process. */
  threads?: number;
  /** False compares libraries and voices as they are read, and nothing else. */
  verify?: boolean;
  /** The only CPU level to use; by default the best of this processor. */
  level?: string;
  /** In place of `level`: arithmetic of the decoder, such as `bfloat16`, if the bundle has it; by default float32. */
  arithmetic?: string;
  /** Digest that the manifest must have: pins this very bundle. It needs `library`, a copy that the app ships. */
  manifestSha256?: string;
}

export declare class Bundle {
  private constructor();
  /** Verifies and loads the bundle in a directory. */
  static load(source: string | URL, options?: LoadOptions): Promise<Bundle>;
  readonly voices: string[];
  readonly model: string;
  /** True if the weights are random and the bundle babbles. */
  readonly synthetic: boolean;
  /** The CPU level in use. */
  readonly level: string;
  /** The most phonemes that are spoken at once; longer input is split. */
  readonly maxPhonemes: number;
  /** Rejects with the error that `synthesize` would throw before it computes. */
  check(text: string | null | undefined, options?: SpeechOptions): Promise<void>;
  /** Speaks the whole input. */
  synthesize(text: string | null | undefined, options?: SpeechOptions): Promise<Audio>;
  /** Speaks piece by piece; the next piece is computed meanwhile. Parts of a text may arrive later. */
  stream(
    text: string | null | undefined | Iterable<string | typeof FLUSH> | AsyncIterable<string | typeof FLUSH>,
    options?: SpeechOptions,
  ): AsyncGenerator<Audio, void, void>;
  /** Ends everything that the bundle computes, and frees it. */
  close(): void;
  [Symbol.dispose](): void;
}

/** An error of a bundle, of its input or of this machine. */
export declare class KokoroError extends Error {
  /** Its type, such as "UnknownVoiceError". */
  name: string;
  /** Such as "UsageError", "InputError", "BundleError" or "MachineError". */
  kind: string;
  /** The number in kokoro.h. */
  code: number;
}

/** Returns samples of 16 bits, rounded as those of the library's own files. */
export declare function pcm16(samples: Float32Array): Int16Array;

/** Returns the beginning of a WAV file of 16 bits, before so many samples. */
export declare function wavHeader(sampleCount: number, sampleRate?: number): Uint8Array;

/** Returns the bytes of a WAV file of 16 bits. */
export declare function encodeWav(samples: Float32Array, sampleRate?: number): Uint8Array;
