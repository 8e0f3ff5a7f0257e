"""The errors of this package. A message names what was expected, what was found and what to do.

All of them derive from `KokoroError`. Catch what you can act on; the families have the command's exit codes:

    InputError                  give another input
        EmptyInputError, UnknownPhonemesError, TooLongError, ...
        UsageError              give another argument
            RangeError, VoiceError, LanguageError, ...
    BundleError                 take another bundle
        DamagedBundleError      copy, fetch or export it again
        UntrustedBundleError    fetch it from whom you trust
        UnsupportedBundleError  install a newer runtime
    MachineError                change the machine
        WrongMachineError       take a bundle for this one
        InstallationError       install a package
        ResourceError           free memory, files or threads, and try again
    OutputError                 write elsewhere
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from reprlib import Repr
from typing import Any

_SHORT = Repr()
"""Shows a value of any size in little memory."""
_SHORT.maxstring = _SHORT.maxother = 200
_SHORT.maxlong = 100


_TEXT_ADVICE = "To speak text, pass it as text (the first argument, or --text of the command)."


class KokoroError(Exception):
    """Base of all errors of this package."""

    exit_code = 1
    """Exit code of a command that this error ends."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns the text and attributes for pickle and copy: a constructor takes other arguments."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[KokoroError], arguments: tuple[Any, ...], attributes: dict[str, Any]) -> KokoroError:
    """Returns an error without a call of its constructor."""
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(attributes)
    return error


class InputError(KokoroError):
    """The request cannot be synthesised."""

    exit_code = 3


class UsageError(InputError):
    """An argument or an option has a wrong name or value; the spoken input does not matter."""

    exit_code = 2


class BundleError(KokoroError):
    """The bundle is incomplete, damaged or not a bundle."""

    exit_code = 4


class MachineError(KokoroError):
    """The bundle is sound but was made for another machine or another runtime."""

    exit_code = 5


class OutputError(KokoroError):
    """A result could not be written."""

    exit_code = 6


class TooLongError(InputError):
    """The input is too long to be spoken at once."""


class RangeError(UsageError):
    """A number is not one, or not within its range."""

    def __init__(self, expected: str, found: object) -> None:
        super().__init__(f"{expected}, found {_shown(found)}.")


class VoiceError(UsageError):
    """No voice is what was given."""


class DamagedBundleError(BundleError):
    """Files are missing or are not what they should be."""


class UntrustedBundleError(BundleError):
    """The bundle is not the one that was pinned, or not signed with the key."""


class UnsupportedBundleError(BundleError):
    """The bundle needs another version of the runtime."""


class WrongMachineError(MachineError):
    """The bundle's libraries do not run on this machine."""


class InstallationError(MachineError):
    """A package is not installed, not completely, or in another version."""


# Errors of the state of a bundle.


class ExecutionError(KokoroError):
    """A compiled library failed while it ran."""

    def __init__(self, stage: str, reason: str) -> None:
        lines = reason.strip().splitlines() or ["no reason given"]
        super().__init__(
            f"The stage {stage!r} failed: {lines[-1]}. The bundle stays usable; "
            "if memory was short, speak shorter inputs, otherwise please report this."
        )


class BundlePickleError(KokoroError):
    """A bundle was to be copied or sent to another process."""

    def __init__(self) -> None:
        super().__init__(
            "A Bundle cannot be copied or pickled: call Bundle.load in each process that speaks. "
            "Processes share the memory of its parameters."
        )


class ClosedBundleError(KokoroError):
    """The bundle was closed."""

    def __init__(self) -> None:
        super().__init__("This bundle was closed: load it again.")


class StreamClosedError(KokoroError):
    """The stream was closed before its end."""

    def __init__(self) -> None:
        super().__init__("This stream was closed before its end: call `stream` again to hear the rest.")


# Errors of the input, and a warning.


class TextAsPhonemesWarning(UserWarning):
    """The phonemes that were given look like text; they are spoken letter by letter."""

    def __init__(self, phonemes: str) -> None:
        super().__init__(f"These phonemes look like text: {_shown(phonemes)}. {_TEXT_ADVICE}")


class EmptyInputError(InputError):
    """There are no phonemes to speak."""

    def __init__(self, text: str = "") -> None:
        """Takes the text, if there is one, in which nothing can be spoken."""
        super().__init__(
            f"Nothing of the text {_shown(text)} can be spoken: give a word or a sign of its language."
            if text
            else "There are no phonemes to speak: give a text, or at least one phoneme."
        )


class UnknownPhonemesError(InputError):
    """Some characters are not in the bundle's vocabulary."""

    def __init__(
        self, positions: Mapping[str, Sequence[int]], words: Mapping[str, int] | None = None
    ) -> None:
        """Takes every unknown character with its positions, and the words with theirs in the text, from 0."""
        self.positions = {phoneme: tuple(found) for phoneme, found in positions.items()}
        named = "; ".join(
            f"{phoneme!r} (U+{ord(phoneme):04X}) at {_listed(found)}"
            for phoneme, found in self.positions.items()
        )
        in_text = (f"{word!r} at {position}" for word, position in (words or {}).items())
        spoken = f", in the text's words {_listed(in_text)}" if words else ""
        super().__init__(
            f"The bundle's vocabulary lacks these phonemes: {named}{spoken}. Positions count from 0. "
            f"Give phonemes as kokoro's G2P (misaki) writes them, without the unknown ones. {_TEXT_ADVICE}"
        )


class TooManyPhonemesError(TooLongError):
    """The input is longer than the model's context."""

    def __init__(self, found: int, limit: int) -> None:
        self.found = found
        self.limit = limit
        super().__init__(
            f"The input has {found} phonemes and the bundle takes at most {limit} at once: "
            "split it at a sentence boundary and speak the parts one after another."
        )


class UnknownVoiceError(VoiceError):
    """The bundle has no voice of this name."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        self.name = name
        names = sorted(known)
        from difflib import get_close_matches  # here alone, so that nobody else waits for it

        self.suggestions = tuple(get_close_matches(name, names, n=3, cutoff=0.5))
        near = f" Did you mean {' or '.join(self.suggestions)}?" if self.suggestions else ""
        super().__init__(f"The bundle has no voice {name!r}.{near} It has {_listed(names)}.")


class MarkupError(InputError):
    """A text's markup, such as SSML, is not well-formed or not supported."""


class SpeedError(RangeError):
    """The speed is not a number within the range."""

    def __init__(self, found: object, lowest: float, highest: float) -> None:
        super().__init__(f"The speed must be a number from {lowest:g} to {highest:g}", found)


class SeedError(RangeError):
    """The seed is not an integer within the range."""

    def __init__(self, found: object) -> None:
        super().__init__("The seed must be an integer from 0 to 2**64 - 1", found)


class ThreadsError(RangeError):
    """The number of threads is not an integer within the range."""

    def __init__(self, found: object) -> None:
        super().__init__("The number of threads must be an integer from 1 to 1024", found)


class ArgumentTypeError(UsageError):
    """An argument is of the wrong type."""

    def __init__(self, argument: str, expected: str, found: object) -> None:
        super().__init__(
            f"The argument {argument!r} must be {expected}, found {type(found).__name__}: {_shown(found)}."
        )


class SpokenTypeError(InputError):
    """The input, or the result of a G2P, is of the wrong type."""

    def __init__(self, expected: str, found: object) -> None:
        super().__init__(f"Expected {expected}, found {type(found).__name__}: {_shown(found)}.")


class BlendError(VoiceError):
    """A blend of voices cannot be read or makes no voice."""

    def __init__(self, blend: str, reason: str) -> None:
        super().__init__(
            f"The blend of voices {blend!r} cannot be read: {reason}. "
            'Write it as "af_heart*0.7+am_adam*0.3", or "af_heart,am_adam" for the average.'
        )


class VoiceArrayError(VoiceError):
    """A voice is neither a name, names, nor an array of style rows."""

    def __init__(self, rows: int, columns: int, found: str) -> None:
        """Takes the shape of the bundle's own voices, and a description of the value that was found."""
        super().__init__(
            f"A voice must be a name, a blend of names, or a float array [{rows}, 1, {columns}], "
            f"[{rows}, {columns}], [1, {columns}] or [{columns}], found {found}."
        )


class PauseError(RangeError):
    """A pause is not a number of seconds within the range."""

    def __init__(self, found: object, longest: float) -> None:
        super().__init__(f"A pause must be a number of seconds from 0 to {longest:g}", found)


class LoudnessError(RangeError):
    """A loudness is not a number of LUFS within the range."""

    def __init__(self, found: object, lowest: float, highest: float) -> None:
        super().__init__(f"The loudness must be a number from {lowest:g} to {highest:g} LUFS", found)


class NoLoudnessError(InputError):
    """The loudness of a voice is not known, so no gain follows from it."""

    def __init__(self, voice: str | None) -> None:
        """Takes the name of the voice; None for an array."""
        self.voice = voice
        which = "a voice that is an array" if voice is None else f"the voice {voice!r}"
        super().__init__(
            f"The bundle does not have the loudness of {which}: leave the option out, name another voice, or "
            "export the bundle again on a machine that runs it."
        )


class UtteranceTooLongError(TooLongError):
    """The predicted durations exceed the largest frame bucket of the bundle."""

    def __init__(self, frames: int, capacity: int, frames_per_second: int) -> None:
        """Takes the frames needed, the frames of the largest bucket, and frames in a second."""
        self.frames = frames
        self.capacity = capacity
        super().__init__(
            f"The utterance needs {frames} frames ({frames / frames_per_second:.1f} s) and the bundle holds "
            f"{capacity} ({capacity / frames_per_second:.1f} s): raise the speed, split the input, "
            "or export a bundle with a larger frame bucket."
        )


class LanguageError(UsageError):
    """There is no G2P for the language."""

    def __init__(self, found: object, known: Iterable[str]) -> None:
        super().__init__(f"There is no G2P for the language {found!r}: expected one of {_listed(known)}.")


class VoiceLanguageError(InputError):
    """The language of a text is not known, because its voice's name does not show one."""

    def __init__(self, voice: object, known: Iterable[str]) -> None:
        """Takes the voice, and the languages that can be named."""
        super().__init__(
            f"The text's language is not known from the voice {_shown(voice)}: name it (language=, or "
            f"--language), such as {_listed(known)}."
        )


class NoTextError(InputError):
    """The bundle cannot turn text of a language into phonemes."""

    def __init__(self, language: str, known: Iterable[str]) -> None:
        """Takes the language, and the languages of the bundle."""
        super().__init__(
            f"This bundle has no data for text in {language!r}: it has those for {_listed(known)}. Export "
            f"the bundle with --languages {language}, or give phonemes or a g2p."
        )


class TextEncodingError(InputError):
    """A text is not UTF-8."""

    def __init__(self, name: str, offset: int) -> None:
        """Takes where the text comes from and the offset of the first byte that is wrong."""
        super().__init__(f"{name} is not UTF-8: see its byte {offset}, counted from 0. Convert it to UTF-8.")


class Ed25519KeyError(InputError):
    """A key is not an Ed25519 key of the kind that is needed, or is missing."""


class TensorInputError(InputError):
    """An array handed to a single stage does not fit the stage's signature."""


class MissingStagesError(InputError):
    """The bundle carries only a part of the model."""

    def __init__(self, missing: Iterable[str], present: Iterable[str]) -> None:
        """Takes the stages that are needed but absent, and the stages of the bundle."""
        self.missing = tuple(missing)
        super().__init__(
            f"This is a partial bundle with the stages {_listed(present)}; it lacks {_listed(self.missing)}. "
            "Export without --stages to get a complete bundle."
        )


# Errors of the bundle.


class TextDataError(DamagedBundleError):
    """The data for text in a bundle are damaged."""

    def __init__(self, part: str, reason: object) -> None:
        """Takes the part of the data, and a description of its defect."""
        super().__init__(
            f"The bundle's data for text are damaged: {part} ({reason}). Copy or export the bundle again."
        )


class MissingFileError(DamagedBundleError):
    """A file that the bundle needs is not there."""


class UnreadableFileError(DamagedBundleError):
    """A file is there and the system does not let it be read."""


class DamagedFileError(DamagedBundleError):
    """A file's size or SHA-256 differs from that in the manifest."""


class ChangedFileError(DamagedFileError):
    """Somebody wrote to a file of a bundle that is open, replaced it or removed it."""


class UnexpectedFileError(DamagedBundleError):
    """The directory holds something that the manifest does not list, and must not."""


class NotRegularFileError(DamagedBundleError):
    """A listed file is a pipe, a socket, a device or a directory."""


class ArchiveError(DamagedBundleError):
    """A file is not the archive of a bundle, or is damaged."""


class MsgpackError(DamagedBundleError):
    """The manifest is not canonical msgpack of the subset that the format uses."""


class ManifestError(DamagedBundleError):
    """The manifest breaks the schema of the format."""

    def __init__(self, path: str, expected: str, found: object) -> None:
        self.path = path
        super().__init__(
            f"manifest.msgpack, {path}: expected {expected}, found {_shown(found)}. Export the bundle again."
        )


class FormatVersionError(UnsupportedBundleError):
    """The bundle follows another version of the format."""

    def __init__(self, found: int, supported: int) -> None:
        advice = "install a newer runtime" if found > supported else "export the bundle again"
        super().__init__(f"The bundle has format version {found}, this runtime reads {supported}: {advice}.")


class RequirementError(UnsupportedBundleError):
    """The bundle has a requirement that this runtime does not support."""

    def __init__(self, unknown: Iterable[str], known: Iterable[str]) -> None:
        super().__init__(
            f"The bundle requires {_listed(map(ascii, unknown))} of its reader, this runtime supports "
            f"{_listed(known)}: install a newer runtime, or export the bundle without."
        )


class ManifestDigestError(UntrustedBundleError):
    """The manifest is not the one that the caller pinned."""

    def __init__(self, expected: str, found: str) -> None:
        super().__init__(
            f"manifest.msgpack has SHA-256 {found}, pinned is {expected}: "
            "this is another bundle than the one you trust; fetch that one again or pin this one."
        )


class SignatureError(UntrustedBundleError):
    """The signature is missing, was made with another key or for another manifest, or lacks the context."""


class ScalesError(DamagedBundleError):
    """The scales of a weight are no positive numbers."""

    def __init__(self, name: str, found: float) -> None:
        super().__init__(
            f"The parameters {name} are scales: expected positive finite numbers, found {found:g}. "
            "Export the bundle again."
        )


class ModelOutputError(DamagedBundleError):
    """A stage computed values that are not finite."""


# Errors of the machine.


class PlatformError(WrongMachineError):
    """The bundle was made for another operating system or processor."""


class CpuLevelError(WrongMachineError):
    """No set of libraries in the bundle runs on this processor."""


class UnknownProcessorError(WrongMachineError):
    """The system does not name the processor's features."""


class TvmVersionError(InstallationError):
    """The TVM runtime in this process is not the one that the bundle was compiled for."""


class LibraryLoadError(WrongMachineError):
    """A compiled library passed all checks and yet could not be loaded."""


class ForbiddenCodeError(LibraryLoadError):
    """The system runs no code from the directory of temporary files, from which a library was loaded."""

    def __init__(self, directory: object, reason: object) -> None:
        super().__init__(
            f"The system runs no code from its directory of temporary files, {directory} ({reason}): set the "
            "environment variable TMPDIR (on Windows TEMP) to a directory that is not mounted with noexec "
            "and that no policy blocks."
        )


class DeviceError(WrongMachineError):
    """A device that a stage computes on is not there, or cannot be used."""


class ResourceError(MachineError):
    """The system has too little memory, or no file or thread left to open, or its disk failed."""

    def __init__(self, task: str, reason: object) -> None:
        # Python's own MemoryError has no text.
        super().__init__(
            f"{task} failed ({str(reason) or 'out of memory'}). The cause is this machine, not the bundle: "
            "free memory, close files, raise the limits of this process (ulimit) or check the disk, and try "
            "again."
        )


class ForkError(MachineError):
    """The bundle was loaded in a parent process."""

    def __init__(self) -> None:
        super().__init__(
            "This bundle was loaded before the process forked, and its threads did not survive: "
            "load it in the child, or start the child with multiprocessing's 'spawn' method."
        )


class G2PMissingError(InstallationError):
    """The package that turns text into phonemes is not installed, or not completely."""


# Errors of the output.


class NotABundleError(OutputError):
    """The destination exists and is not a whole bundle without other files, so it must not be replaced."""


class DestinationExistsError(OutputError):
    """The destination exists, and the user did not say that it may be replaced."""

    def __init__(self, destination: object) -> None:
        super().__init__(f"{destination} exists: choose another path, or add --force to replace it.")


class BusyDestinationError(OutputError):
    """Another process is writing to the same place."""


class DiskFullError(OutputError):
    """The disk has too little room for the output."""

    def __init__(self, path: object, needed: int, free: int) -> None:
        """Takes the place, and the bytes needed and free there."""
        self.needed = needed
        self.free = free
        super().__init__(
            f"Writing {path} needs {needed} bytes and {free} are free: make room, or write to another disk."
        )


class ClosedPipeError(OutputError):
    """The program that was to read the output has ended."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} was closed by the program that reads it: nothing more can be written.")


def check_type(argument: str, value: object, kinds: type | tuple[type, ...], expected: str) -> None:
    """Refuses an argument of another type than one of `kinds`.

    Raises:
        ArgumentTypeError: it is of another type.
    """
    if not isinstance(value, kinds):
        raise ArgumentTypeError(argument, expected, value)


def _listed(items: Iterable[object], limit: int = 20) -> str:
    """Joins `items` with commas, naming at most `limit` of them."""
    shown = [str(item) for item in items]
    if not shown:
        return "none"
    rest = f" and {len(shown) - limit} more" if len(shown) > limit else ""
    return ", ".join(shown[:limit]) + rest


def _shown(value: object) -> str:
    try:
        shown = _SHORT.repr(value)
    except ValueError:
        # An integer of more digits than Python writes.
        shown = f"a value of type {type(value).__name__}"
    return shown if len(shown) <= 80 else f"{shown[:77]}..."
