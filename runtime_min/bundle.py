"""The facade of the package: a loaded bundle, which apps use."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from .engine.devices import load_devices
from .engine.stage_runner import StageRunner
from .engine.vm import Worker, load_tvm, map_parameters
from .errors import (
    BundlePickleError,
    ClosedBundleError,
    MissingStagesError,
    UsageError,
    check_type,
)
from .format.arithmetic import arithmetic_of
from .format.bundle_files import BundleFiles
from .format.manifest import CpuLevel, Manifest
from .format.signatures import stage_names
from .loading import load_bundle
from .model.chain import Choices, Trace
from .model.loudness import read_loudness
from .model.statistics import Statistics, VoiceStatistics
from .model.synthesiser import Synthesiser
from .model.tokens import BOUNDARIES
from .model.voices import VoiceLike, VoiceName, VoiceTables
from .speech.lead import steady_pieces
from .speech.plan import Planner, SpeechPlan, check_manner, plan_portions
from .speech.request import (
    Capabilities,
    Request,
    SpeechOptions,
    check_pause,
    check_utterance,
    is_pieces,
    read_request,
)
from .speech.speak import speak
from .speech.stream import Stream
from .speech.timing import Audio
from .speech.words import G2P, OwnWords, PhonemeInput, TextInput, TextPieces

if TYPE_CHECKING:
    from typing import Unpack

    from .live import LiveSpeech
    from .model.self_test import StageFigure
    from .text.bundled import BundledText


class Bundle:
    """A bundle that speaks. Make one with `Bundle.load`; any number of threads may use it."""

    def __init__(self, files: BundleFiles, manifest: Manifest, level: CpuLevel, threads: int) -> None:
        """Loads a bundle that has been verified; apps call `Bundle.load`."""
        self.directory = files.directory
        self.manifest = manifest
        self.level = level
        """The CPU level whose libraries are used."""
        self.voice_tables: Mapping[str, NDArray[np.float32]] = VoiceTables(files, manifest)
        """Style rows of every voice, float32 ``[rows, columns]``."""
        self.statistics: Mapping[str, Statistics] = VoiceStatistics(files, manifest)
        """Statistics of the decoder's norms by voice, for the voices whose statistics are known."""
        self._files = files
        self._text: BundledText | None = None
        tvm_ffi = load_tvm(files, manifest)
        devices = load_devices(tvm_ffi, files, manifest)
        parameters = map_parameters(tvm_ffi, files, manifest.parameters, manifest.transforms)
        self._worker = Worker(tvm_ffi, threads)
        self._stages = {
            stage.name: StageRunner(
                stage, stage.buckets(level.name), files, parameters, self._worker, devices[stage.device]
            )
            for stage in manifest.stages
        }
        files.release_directory()

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        threads: int | None = None,
        level: str | None = None,
        arithmetic: str | None = None,
        verify: bool = True,
        manifest_sha256: str | None = None,
        key: bytes | None = None,
        signature: str | os.PathLike[str] | None = None,
    ) -> Bundle:
        """Verifies the bundle in the directory `path` and loads it.

        Args:
            path: the bundle: its directory, or the name of one that pip installed, such as ``kokoro-heart``.
            threads: number of threads that compute; by default `TVM_NUM_THREADS`, or else all cores.
            level: name of the CPU level to use; by default the best that this processor has.
            arithmetic: in place of `level`: arithmetic of the decoder's convolutions, such as ``bfloat16``,
                if the bundle was exported with it; float32 takes its place where the processor lacks it. By
                default float32.
            verify: compare every listed file's size and SHA-256 first. Without it, libraries
                and voices are compared when they are read, and damaged parameters are used as they are.
            manifest_sha256: digest that the manifest must have: pins this very bundle.
            key: Ed25519 public key whose owner must have signed the bundle: 32 bytes, or the bytes of a PEM.
            signature: the signature file; by default `path` with ``.sig`` after its name.

        Raises:
            BundleError: the bundle is incomplete, damaged, not a bundle, or not the pinned or signed one.
            Ed25519KeyError: `key` is not such a key, or `signature` is given without it.
            UsageError: an argument is wrong, such as a number of threads that is out of range.
            MachineError: it is for another machine or another TVM, or this one lacks memory, open files or
                threads.
        """
        return load_bundle(
            cls,
            path,
            threads=threads,
            level=level,
            arithmetic=arithmetic,
            verify=verify,
            manifest_sha256=manifest_sha256,
            key=key,
            signature=signature,
        )

    def __repr__(self) -> str:
        model, target = self.manifest.model.name, self.manifest.target.name
        state = f"{len(self.voice_tables)} voices" if self._stages else "closed"
        return f"<Bundle {str(self.directory)!r}: {model} for {target}, {state}>"

    @property
    def voices(self) -> tuple[VoiceName, ...]:
        """Names of the voices; a name in kokoro's style has a language and a sex."""
        return tuple(map(VoiceName, self.voice_tables))

    @property
    def arithmetic(self) -> str:
        """Arithmetic of the decoder's convolutions: ``float32``, or another that `load` was asked for."""
        return arithmetic_of(self.manifest)[self.level.name]

    @property
    def threads(self) -> int:
        """Number of threads that compute."""
        return self._worker.threads

    @property
    def max_phonemes(self) -> int:
        """Most phonemes of one utterance: the model's limit or that of the largest bucket."""
        runners = [runner for runner in self._stages.values() if runner.stage.axis == "tokens"]
        capacities = [runner.buckets[-1] - BOUNDARIES for runner in runners]
        return min([self.manifest.max_phonemes, *capacities])

    def synthesize(
        self,
        text: TextInput | None = None,
        voice: VoiceLike = "af_heart",
        *,
        phonemes: PhonemeInput | None = None,
        **options: Unpack[SpeechOptions],
    ) -> Audio:
        """Speaks text, or phonemes, of any length.

        Up to `max_phonemes` are synthesised at once. More are split between sentences, clauses or words,
        and the joined pieces of `stream` are returned.

            bundle.synthesize("On 3 May 2025 she read $4.50.", "bf_emma", loudness=-18)
            bundle.synthesize([Segment("Is it far?"), Segment("No.", voice="am_adam", speed=0.8)])
            bundle.synthesize(phonemes="həlˈO wˈɜɹld!", voice="af_heart*0.7+am_adam*0.3")
            bundle.synthesize(phonemes=[Word("Hello", "həlˈO", " "), Word("world", "wˈɜɹld")]).words

        Args:
            text: text, or segments of text with a voice and speed of their own.
            voice: a name, a blend, names to average, or an array, see `voices.style_row`.
            phonemes: in place of text: phonemes as kokoro's G2P (misaki) writes them, words with phonemes, or
                segments of either.
            options: these, each by its name:

        Options:
            speed: from 0.25 to 4, by default 1; 2 is twice as fast.
            seed: seed of the noise in unvoiced sounds, from 0 to 2**64 - 1; equal seeds give equal samples.
            ssml: the text is an SSML document; `text.ssml` lists the elements.
            skip_emoji: leave emoji out of English text, instead of saying their names.
            language: language of the text, such as ``en-us`` or ``es-MX``; by default that of the voice.
            lexicon: phonemes by word of English text; or, by word, phonemes by part of speech.
            g2p: makes phonemes, or words with phonemes, of the text; by default `find_g2p` finds one.
            sentence_pause: seconds of silence to add after each sentence but the last.
            clause_pause: the same after clauses that do not end a sentence.
            trim: shorten the silence before the speech to at most 0.05 seconds, and make that behind it
                `end_pause`. Without it, one utterance has the samples of kokoro.
            end_pause: with `trim`, seconds of silence at the end, by default 0.3: the pause before what is
                played next.
            loudness: LUFS to which a fixed gain brings each voice, from -50 to -14; peaks are bent so that
                none clips. None leaves the voices at the levels of the model.
            stretch: speak to the length that the speed promises, below 0.6 and above 1.1 by a time stretch,
                which is understood better; it is the default. False leaves the speed to the model, as
                kokoro does.
            one_pass: only for streams, see `stream`; by default False.

        Raises:
            InputError: the request cannot be synthesised.
            MissingStagesError: this is a partial bundle.
            ModelOutputError: the model computed samples or durations that are not finite.
        """
        pieces, _ = self._speak(read_request(text, phonemes, voice, options), whole=True)
        return Audio.join(pieces)

    def stream(
        self,
        text: TextInput | TextPieces | None = None,
        voice: VoiceLike = "af_heart",
        *,
        phonemes: PhonemeInput | None = None,
        steady: bool = False,
        flush_after: float | None = None,
        **options: Unpack[SpeechOptions],
    ) -> Stream:
        """Speaks input of any length piece by piece: the first is a clause or a few words, later ones grow.

            with bundle.stream(text) as stream:
                for piece in stream:
                    play(piece.samples)

        Arguments and errors are those of `synthesize`; the silence at both ends is trimmed by default. Wrong
        input is refused here; a later error is raised when its piece is taken. Computing starts at once.

        Words last as long as in `synthesize`, those of the first piece nearly; their levels differ by about
        half a decibel. With the option `one_pass` the samples are those of `synthesize` to the bit, with the
        same options: up to `max_phonemes` are one piece, and the speech begins when all of it is computed.

        With `steady` the first pieces are held back, as one, until playing them cannot end before the next
        one is there, at the speed at which they were computed. On a slow or busy machine the speech begins
        later then, and has no gaps. `Stream.lead` tells how early each piece comes.

        Text may also arrive bit by bit, such as the tokens of a language model: from any iterable, which is
        read on a thread of its own, or from an asynchronous one, which is read in the running event loop. It
        may be cut anywhere. A sentence, or the first clause, is spoken when the word after it shows that it
        is complete. What is there is spoken when `FLUSH` is among the pieces, or when none comes for
        `flush_after` seconds. `ssml`, `one_pass` and `steady` need a whole text.
        """
        check_type("steady", steady, bool, "True or False")
        if is_pieces(text) and phonemes is None:
            if steady:
                raise UsageError("The option steady needs a whole text: leave it out.")
            if flush_after is not None:
                flush_after = check_pause(flush_after)
            # Whoever has a whole text need not wait for their import.
            from .live import speak_incoming
            from .speech.incoming import Incoming

            speech = self.live(voice, **options)
            incoming = Incoming(text)
            return Stream(speak_incoming(speech, incoming, flush_after), None, incoming)
        if flush_after is not None:
            raise UsageError("The option flush_after is for a text that arrives bit by bit: leave it out.")
        whole = cast("TextInput | None", text)
        request = read_request(whole, phonemes, voice, {"trim": True, **options})
        pieces, first = self._speak(request, whole=False)
        if steady:
            pieces = steady_pieces(pieces, first.lengths)
        if not request.needs_g2p:
            return Stream(pieces, first.phonemes)
        return Stream(pieces, lambda: "".join([plan.phonemes for plan in self._plans(request, whole=False)]))

    def live(self, voice: VoiceLike = "af_heart", **options: Unpack[SpeechOptions]) -> LiveSpeech:
        """Returns a speech whose text is pushed to it bit by bit.

        This is for servers, which wait for text and decide whose piece is next. `stream` does the waiting.
        Arguments and errors are those of `stream`.
        """
        request = read_request("", None, voice, {"trim": True, **options})
        if request.ssml or request.one_pass:
            option = "ssml" if request.ssml else "one_pass"
            raise UsageError(f"The option {option} needs a whole text: give a str, or leave it out.")
        # Whoever has a whole text need not wait for its import.
        from .live import LiveSpeech
        from .text.bundled import linked_portions

        capabilities, synthesiser = self._capabilities(), self._synthesiser()
        check_manner(capabilities, request)
        read = partial(linked_portions, self._bundled_text().g2p_of(request))
        planner = Planner(capabilities, replace(request, g2p=None), whole=False)
        return LiveSpeech(read, planner, synthesiser)

    def pieces(
        self,
        text: TextInput | None = None,
        voice: VoiceLike = "af_heart",
        *,
        phonemes: PhonemeInput | None = None,
        **options: Unpack[SpeechOptions],
    ) -> Iterator[Audio]:
        """Returns the pieces of `stream`; each is computed when it is taken, on the thread that takes it.

        This is for servers, which decide whose piece is next. Arguments and errors are those of `stream`.
        """
        request = read_request(text, phonemes, voice, {"trim": True, **options})
        return self._speak(request, whole=False)[0]

    def find_g2p(
        self, language: str, *, lexicon: OwnWords | None = None, skip_emoji: bool = False
    ) -> tuple[str, G2P]:
        """Returns the name of the best G2P for a language, and the G2P.

        English needs nothing but the bundle; `text.find_g2p` describes the other languages.

        Args:
            language: a tag of BCP 47, such as ``es-MX``, or a letter of kokoro's; the nearest one is meant.
            lexicon: phonemes by word, for the bundle's own G2P.
            skip_emoji: as in `synthesize`.

        Raises:
            NoTextError: the bundle has no data for English, and no G2P is installed.
            G2PMissingError: no G2P for another language is installed.
            LanguageError: there is no such language.
            BundleError: the bundle's data for text are damaged.
        """
        return self._bundled_text().find_g2p(language, lexicon, skip_emoji=skip_emoji)

    def speaks(self, language: str) -> bool:
        """Returns True if text of a language can be spoken here: by the bundle, or by an installed G2P.

        Nothing is loaded or imported for the answer.

            [voice for voice in bundle.voices if voice.language and bundle.speaks(voice.language)]

        Args:
            language: as in `find_g2p`.

        Raises:
            ManifestError: the manifest's part for text is wrong.
        """
        return self._bundled_text().speaks(language)

    def trace(
        self,
        phonemes: str,
        voice: VoiceLike = "af_heart",
        speed: float = 1.0,
        seed: int = 0,
        *,
        durations: NDArray[np.int64] | None = None,
        noise: NDArray[np.float32] | None = None,
        buckets: Mapping[str, int] | None = None,
    ) -> Trace:
        """Speaks one utterance as `synthesize` does and returns every tensor on the way, finite or not.

        Args:
            phonemes: the phonemes to speak, at most `max_phonemes`.
            voice: as in `synthesize`.
            speed: from 0.25 to 4.
            seed: seed of the noise.
            durations: frames of each token, int64 ``[tokens]``, in place of the predicted ones.
            noise: float32 ``[1, 600 * frames]``, in place of the generated one.
            buckets: bucket by stage, in place of the smallest that holds the length.

        Raises:
            InputError: as in `synthesize`, or an array or bucket does not fit.
            MissingStagesError: this is a partial bundle.
        """
        capabilities, synthesiser = self._capabilities(), self._synthesiser()
        utterance = check_utterance(capabilities, phonemes, voice, speed, seed)
        return synthesiser.trace(utterance, Choices(durations, noise, buckets))

    def stage(self, name: str) -> StageRunner:
        """Returns a single stage, to run it on given arrays.

        Raises:
            MissingStagesError: the bundle does not have it.
        """
        return self._require((name,))[name]

    def self_test(self) -> Iterator[StageFigure]:
        """Compares every stage, and then the whole chain, with kokoro's values from the time of export.

            assert all(each.figure.holds for each in bundle.self_test())

        Yields:
            Every figure with its limit, as soon as it is measured.

        Raises:
            MissingStagesError: this is a partial bundle.
            NoSelfTestError: the bundle has no self-test.
            BundleError: its self-test is damaged.
        """
        from .model.self_test import run_self_test

        stages = self._require(stage_names(self.manifest.separate_source))
        return run_self_test(self.manifest, self._files, stages, self.arithmetic)

    def close(self) -> None:
        """Releases the bundle's thread, memory and files; afterwards it cannot speak any more."""
        self._worker.close()
        # Not cleared: a stream that is still open gets its error from the worker.
        self._stages = {}
        self._files.close()

    def _bundled_text(self) -> BundledText:
        # Whoever gives phonemes need not wait for its import.
        from .text.bundled import BundledText

        self._text = self._text or BundledText(self.manifest, self._files)
        return self._text

    def _speak(self, request: Request, *, whole: bool) -> tuple[Iterator[Audio], SpeechPlan]:
        """Returns the pieces of the speech, each computed when it is taken, and the first plan."""
        # In this order, so that closing in between is found.
        plans, synthesiser = self._plans(request, whole=whole), self._synthesiser()
        first = next(plans)
        return speak(first, synthesiser, plans), first

    def _plans(self, request: Request, *, whole: bool) -> Iterator[SpeechPlan]:
        if request.needs_g2p:
            portions = self._bundled_text().portions(request, self.voice_tables)
        else:
            portions = iter([request.whole])
        return plan_portions(self._capabilities(), request, portions, whole=whole)

    def _capabilities(self) -> Capabilities:
        loudness = partial(read_loudness, self.manifest)
        vocabulary, statistics = self.manifest.vocabulary, self.statistics
        return Capabilities(self.voice_tables, vocabulary, self.max_phonemes, loudness, statistics)

    def _synthesiser(self) -> Synthesiser:
        stages = self._require(stage_names(self.manifest.separate_source))
        return Synthesiser(stages, self.manifest.vocabulary)

    def _require(self, names: Sequence[str]) -> Mapping[str, StageRunner]:
        """Returns the stages, which `close` may take from the bundle at any moment."""
        stages = self._stages
        # Every bundle has a stage until it is closed.
        if not stages:
            raise ClosedBundleError
        missing = [str(name) for name in names if not isinstance(name, str) or name not in stages]
        if missing:
            raise MissingStagesError(missing, stages)
        return stages

    def __reduce__(self) -> NoReturn:
        """Refuses copies: the libraries and threads belong to this process."""
        raise BundlePickleError

    def __enter__(self) -> Bundle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
