"""Vectors of speech: the decisions behind samples of any length, as the Python runtime makes them.

``python -m tests.support.speech_vectors`` writes `PATH`. Readers in other languages are tested against it.
All input is stored in it, or made by `samples` and `Model`, which every language can repeat to the bit.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runtime_min.errors import KokoroError, UtteranceTooLongError
from runtime_min.format.signatures import SAMPLES_PER_FRAME
from runtime_min.model.loudness import voice_gain
from runtime_min.model.synthesiser import Prepared, Utterance
from runtime_min.model.voices import style_row
from runtime_min.output.wav import encode, wav_header
from runtime_min.speech.join import HALF_FADE, LARGEST_SHIFT, best_shift, crossfade, quietest
from runtime_min.speech.plan import piece_seed, plan_portions
from runtime_min.speech.request import Capabilities, Request
from runtime_min.speech.sentences import find_sentences
from runtime_min.speech.silence import find_speech, levels
from runtime_min.speech.speak import speak
from runtime_min.speech.split import find_breaks, split
from runtime_min.speech.words import Segment, Word
from tests.support.fakes.synthesiser import Ready, ready
from tests.support.paths import ROOT

PATH = ROOT / "tests" / "golden" / "speech.json"
QUIET = " ,.;:!?—"
VOCABULARY = {
    phoneme: number for number, phoneme in enumerate(f'{QUIET}…"()“”ˈˌabdefhijklmnoprstuvwzæðŋɑɔəɛɪʃʊʌʒː', 1)
}
COLUMNS = 8
VOICES = ("plain", "other", "a+b")
MEASURED = {"plain": -2312, "other": -1990}
STATISTICS = {voice: {"norm": np.ones((2, 1), np.float32)} for voice in ("plain", "a+b")}


def noise(seed: int, count: int) -> NDArray[np.int64]:
    """Returns numbers from -2**15 to 2**15 - 1: the upper bits of splitmix64 of ``seed + index``."""
    word = np.arange(count, dtype=np.uint64) + np.uint64(seed)
    word = (word + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (word >> np.uint64(48)).astype(np.int64) - (1 << 15)


def samples(seed: int, count: int, period: int) -> NDArray[np.float32]:
    """Returns a triangle wave of a period with noise, in multiples of 2**-20, so that no value is rounded."""
    times = np.arange(count, dtype=np.int64) % period
    wave = 4 * 2**16 * np.minimum(times, period - times) // period - 2**16
    return ((4 * wave + noise(seed, count) // 4) * 2.0**-20).astype(np.float32)


class Model(Ready):
    """Computes durations and samples from the phonemes, the seed and the style without any rounding."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity

    def prepare(self, utterance: Utterance) -> Prepared:
        phonemes, style, speed, seed, _, statistics = utterance
        slower = int(style.prosody[0, 0] > 0)
        frames = [5, *(2 + ord(phoneme) % 4 + slower for phoneme in phonemes), 5]
        durations = np.maximum(np.rint(np.array(frames) / speed), 1).astype(np.int64)
        if durations.sum() > self._capacity:
            raise UtteranceTooLongError(int(durations.sum()), self._capacity, 40)
        loudness = int(style.decoder[0, 0])
        sounds = []
        loud = [1 if phoneme in QUIET else 2 + ord(phoneme) % 7 for phoneme in f" {phonemes} "]
        for place, (phoneme, count) in enumerate(zip(f" {phonemes} ", durations, strict=True)):
            sound = samples((seed + place) % 2**32, SAMPLES_PER_FRAME * int(count), 60 + ord(phoneme) % 97)
            sounds.append(sound * np.float32(2.0**-10 if phoneme in QUIET else 2.0**-loudness))
        energy = np.repeat(loud, 2 * durations).astype(np.float32)
        return ready(np.concatenate(sounds), durations, energy, statistics)

    def decode(self, prepared: Prepared, start: int, end: int) -> NDArray[np.float32]:
        # What is given statistics is told by its level.
        level = np.float32(1 if prepared.statistics is None else 0.5)
        return level * super().decode(prepared, start, end)


def tables() -> dict[str, NDArray[np.float32]]:
    """Returns voices ``[510, COLUMNS]``: in the first column small integers, which the model takes."""
    found = {}
    for number, name in enumerate(VOICES, 1):
        table = (noise(number, 510 * COLUMNS) * 2.0**-16).astype(np.float32).reshape(510, COLUMNS)
        table[:, 0] = 1 + number % 2
        found[name] = table
    return found


def vectors() -> dict[str, Any]:
    """Returns all vectors."""
    return {
        "breaks": [_breaks(*case) for case in _break_cases()],
        "pieces": [_pieces(**case) for case in _piece_cases()],
        "sentences": [[text, find_sentences(text)] for text in _TEXTS],
        "seeds": [
            [str(seed), first, str(piece_seed(seed, first))]
            for seed in (0, 7, 2**64 - 1)
            for first in (0, 1, 999)
        ],
        "blends": [_blend(*case) for case in _BLENDS],
        "gains": [_gain(*case) for case in _GAINS],
        "silence": [_silence(*case) for case in _SILENCES],
        "quietest": [_quietest(*case) for case in ((1, 0), (2, 1), (3, 1300), (4, 6000))],
        "shifts": [_shift(*case) for case in ((1, 1000, 100), (2, 1000, 131), (3, 780, 90), (4, 600, 70))],
        "fades": [_fade(*case) for case in ((1, 1, 100), (2, 9, 100), (3, 5, 150))],
        "wav": _wav(),
        "speeches": [_speech(case) for case in _speech_cases()],
    }


def _digest(*contents: bytes) -> str:
    return hashlib.sha256(b"".join(contents)).hexdigest()


_TEXTS = (
    "Dr. No lives at No. 5. Who knows? At 5 p.m. he left. “Really?” she said. Yes… No!",
    "1. Red\n2. Blue\n\nA heading\nIt was a long line that somebody wrapped somewhere near the end of\n"
    "the page. Done.",
    "Il sig. Rossi è qui. Perché? La Sra. López vive en EE.UU. Está bien. M. Dupont « arrive ». Oui !",
    "これは文です。「そうですか。」と言った。はい！ (See p. 5. It is long.) "
    "The U.S. Army. The U.S. It is. so.Then a.b",
    "नमस्ते। आप कैसे हैं? मैं ठीक हूँ॥ Wait . . . what? [1] Note.2 And J. R. R. Tolkien. I am A. Smith vs. B.",
)
_PHONEMES = (
    "",
    " ",
    "a",
    "həlˈoʊ wˈɜld.",
    "Yes. No, never",
    "a .b ,c !? d … e“f” g) h (i. j",
    "mɪstɚ. »a« . »b › c.\u2028d.” e",
    "ʃi sˈɛd, “nˈoʊ!” ænd lˈɛft; ðˈɛn — sˈʌdənli — wˈiː ɹˈæn: fˈæst… vˈɛɹi fˈæst.\n",
    "。a！？ b、c，d」e」 f”  g \u3000h॥ i।j",
    "a,b,,c , d ;: e?! f.g.. h...",
    "bəbəbəbəbəbəˈbəbəbəbjəbəbəbəbəbəbəbəbəbəbəbəbəbəbəbəbəbəbəbəbəbəbəbəbə aː↗də",
    "x" * 130,
    ("ðə kwˈɪk bɹˈaʊn fˈɑks, " * 3 + "dʒˈʌmps ˈoʊvɚ ðə lˈeɪzi dˈɔɡ. ") * 6,
)


def _break_cases() -> Iterator[tuple[str, list[int] | None]]:
    for phonemes in _PHONEMES:
        yield phonemes, None
    yield "a. b? c. d!) e", [3]
    yield "a. b. c", []


def _breaks(phonemes: str, sentences: list[int] | None) -> list[Any]:
    found = find_breaks(phonemes, sentences)
    return [phonemes, sentences, "".join(str(int(found.get(at, 0))) for at in range(len(phonemes) + 1))]


def _piece_cases() -> Iterator[dict[str, Any]]:
    for phonemes in _PHONEMES:
        for limit, size, before in (
            (510, 250, 250),
            (510, 250, 0),
            (510, 250, 12),
            (510, 250, 70),
            (60, 30, 0),
            (60, 30, 14),
            (12, 6, 0),
            (8, 8, 4),
        ):
            yield {"phonemes": phonemes, "limit": limit, "size": size, "before": before}


def _pieces(phonemes: str, limit: int, size: int, before: int) -> list[Any]:
    ends = split(phonemes, find_breaks(phonemes), limit=limit, size=size, before=before)
    return [_PHONEMES.index(phonemes), limit, size, before, ends]


_BLENDS = (
    ("plain", 1),
    ("plain", 510),
    ("plain,other", 3),
    ("plain*0.7+other*0.3", 200),
    ("other * 3 + plain*1e-3 ,other*.5", 7),
    ("a+b", 2),
    ("plain*0+other*1_0", 4),
    ("", 1),
    ("nobody", 1),
    ("plain+nobody", 1),
    ("plain*x", 1),
    ("plain*-1", 1),
    ("plain*nan", 1),
    ("plain*0", 1),
    ("plain++other", 1),
    ("plain*1e308+other*1e308", 1),
    ("plain*0x10+other", 1),
)


def _blend(voice: str, phonemes: int) -> list[Any]:
    try:
        style = style_row(tables(), voice, phonemes)
    except KokoroError as error:
        return [voice, phonemes, type(error).__name__]
    return [voice, phonemes, style.decoder.tobytes().hex() + style.prosody.tobytes().hex()]


_GAINS = (
    ("plain", -18.0),
    ("plain", -30),
    ("plain", -14.0),
    ("other", -23.4567),
    ("plain*0.7+other*0.3", -20.01),
    ("other,plain", -17.7),
    ("a+b", -20.0),
    ("plain*2+a", -20.0),
    ("plain+", -20.0),
)


def _gain(voice: str, loudness: float) -> list[Any]:
    try:
        return [voice, loudness, voice_gain(MEASURED, tables(), voice, loudness).tobytes().hex()]
    except KokoroError as error:
        return [voice, loudness, type(error).__name__]


_SILENCES = (
    # Seed, samples, those of silence before and behind, how quiet these are, and the loudest level in 2**-20.
    (1, 0, 0, 0, 0, 0),
    (2, 239, 100, 0, 10, 0),
    (3, 5000, 0, 0, 0, 0),
    (4, 9000, 3000, 2500, 14, 0),
    (5, 9001, 240, 720, 30, 0),
    (6, 9240, 1000, 960, 9, 0),
    (7, 4800, 4800, 0, 40, 0),
    (8, 5100, 1900, 1900, 6, 1 << 17),
    (9, 5100, 1900, 1900, 6, 1 << 24),
)


def _silence(seed: int, count: int, before: int, behind: int, shift: int, loudest: int) -> list[Any]:
    sound = samples(seed, count, 100)
    sound[:before] *= np.float32(2.0**-shift)
    sound[count - behind :] *= np.float32(2.0**-shift)
    found = levels(sound)
    bounds = find_speech(found, max(loudest * 2.0**-20, float(found.max(initial=0.0))))
    return [seed, count, before, behind, shift, loudest, *(bounds or ())]


def _quietest(seed: int, room: int) -> list[int]:
    count = room + 2 * HALF_FADE
    return [seed, room, quietest(samples(seed, count, 700), samples(seed + 50, count, 900), room)]


def _shift(seed: int, count: int, period: int) -> list[int]:
    right = samples(seed + 50, count, period)
    return [seed, count, period, best_shift(samples(seed, 2 * HALF_FADE, period), right), LARGEST_SHIFT]


def _fade(left: int, right: int, period: int) -> list[Any]:
    count = 2 * HALF_FADE
    faded = crossfade(samples(left, count, 100), samples(right, count, period))
    return [left, right, period, _digest(faded.tobytes()), [float(value).hex() for value in faded[::120]]]


def _wav() -> dict[str, Any]:
    values = np.array([0, 1, -1, 1.5, -2, 0.5, 1.5 / 32767, 2.5 / 32767, -0.5 / 32767, 1e-9], np.float32)
    return {
        "headers": [
            [rate, count, wav_header(rate, "pcm16", count).hex()] for rate, count in ((24000, 0), (24000, 61))
        ],
        "samples": values.tobytes().hex(),
        "pcm16": encode(values).hex(),
    }


_LONG = (
    _PHONEMES[-1].replace("ɹ", "r").replace("ɚ", "ə").replace("ɡ", "h").replace("k", "t").replace("q", "t")
)
_LONG = "".join(phoneme for phoneme in _LONG if phoneme in VOCABULARY)
_WORDS = (
    Word("Dr.", "dˈɑtə", " "),
    Word("No", "nˈo", " "),
    Word("42", None, " "),
    Word("left", "lˈɛft", ""),
    Word(".", ".", " "),
    Word("“", "“", ""),
    Word("Why", " wˈaɪ", ""),
    Word("?", "?", ""),
    Word("”", "”", "\n\n"),
    Word("He is", "hi ɪz", " "),
    Word("…", "", " "),
)


def _speech_cases() -> Iterator[dict[str, Any]]:
    """Yields fields of requests, and `whole`, `limit` and the like, where they are not the usual ones."""
    yield {"segments": [Segment("həlo.")]}
    yield {"segments": [Segment(_LONG)], "seed": 2**64 - 3}
    yield {"segments": [Segment(_LONG[:400])], "one_pass": True}
    yield {"segments": [Segment("də də."), Segment(_LONG[:300]), Segment(_LONG[:70])]}
    yield {"segments": [Segment(_LONG * 3)], "speed": 0.9, "capacity": 1300}
    yield {"segments": [Segment(_LONG)], "whole": True, "voice": "plain*0.25+other", "speed": 0.7}
    yield {"segments": [Segment(_LONG[:300])], "limit": 60, "trim": True, "speed": 2.5}
    yield {"segments": [Segment(_LONG[:120])], "limit": 60, "speed": 2.5, "stretch": False}
    yield {"segments": [Segment(_LONG[:120])], "limit": 60, "speed": 0.3, "sentence_pause": 0.1}
    yield {"segments": [Segment(_WORDS, speed=1.26), Segment(_WORDS, speed=0.6)], "speed": 3.3}
    yield {"segments": [Segment(_LONG[:400])], "limit": 100, "capacity": 60, "whole": True, "trim": True}
    yield {"segments": [Segment(_LONG[:200])], "capacity": 14}
    yield {"segments": [Segment(_LONG[:260])], "whole": True, "sentence_pause": 0.3, "clause_pause": 0.10001}
    yield {"segments": [Segment(_LONG[:350])], "limit": 80, "sentence_pause": 0.05, "trim": True}
    yield {"segments": [Segment("a" * 100)], "limit": 30}
    yield {
        "segments": [Segment("səm. "), Segment("ə", speed=4, pause=0.2), Segment(_LONG[:90], voice="other")]
    }
    yield {"segments": [Segment(_WORDS)], "sentence_pause": 0.2, "whole": True}
    yield {
        "segments": [Segment(_WORDS * 6), Segment([Word("x", None)], pause=0.5), Segment(_WORDS[:2])],
        "limit": 40,
    }
    yield {"segments": [Segment([Word("?", None, " ")], pause=1), Segment(_WORDS[3:])], "trim": True}
    yield {"segments": [Segment("ab"), Segment("ab")], "sentence_pause": 0.5, "whole": True}
    yield {"segments": [Segment("ab."), Segment(_LONG[:300])], "trim": True, "end_pause": 0.0}
    yield {"segments": [Segment("ab"), Segment(" . ")], "trim": True, "end_pause": 0.1, "whole": True}
    yield {"segments": [Segment("ab.")], "trim": True, "end_pause": 1.23456, "loudness": -18.0}
    yield {
        "segments": [Segment(_LONG[:90]), Segment("ab.", voice="other"), Segment("a", voice="plain+other")],
        "loudness": -27.5,
    }
    yield {"segments": [Segment("ab.", voice="a+b")], "loudness": -27.5}
    yield {"segments": [Segment("ab.")], "loudness": -13.9}
    yield {"segments": [Segment("ab.")], "end_pause": 61.0}
    yield {"segments": [Segment("aXbX")]}
    yield {"segments": [Segment([Word("Xa", "Xa", " "), Word("b", "b")])]}
    yield {"segments": [Segment("")]}
    yield {"segments": [Segment([Word("x", None)])]}
    yield {"segments": [Segment("a")], "speed": 0.24}
    yield {"segments": [Segment("a", speed=5)]}
    yield {"segments": [Segment("a")], "clause_pause": 61}
    yield {"segments": [Segment("a", pause=-1)]}
    yield {"segments": [Segment("a")], "voice": "nobody"}
    yield {"segments": [Segment("b")], "capacity": 3}
    yield from _speech_cases_with_statistics()


def _speech_cases_with_statistics() -> Iterator[dict[str, Any]]:
    """Yields the same for a bundle that has the statistics of a voice."""
    cases: list[dict[str, Any]] = [
        {"segments": [Segment("həlo.")]},
        {"segments": [Segment("a bədefəhi")]},
        {"segments": [Segment(_LONG)], "seed": 7},
        {"segments": [Segment(_LONG[:400])], "whole": True},
        {"segments": [Segment(_LONG * 2)], "whole": True, "speed": 0.9, "capacity": 1300},
        {"segments": [Segment(_LONG[:300])], "limit": 60, "trim": True, "speed": 2.5},
        {"segments": [Segment(_LONG[:129]), Segment(_LONG[:150], voice="other"), Segment(_LONG[:130])]},
        {"segments": [Segment(_LONG[:190], voice="plain*0.25+other"), Segment(_LONG[:190], voice="a+b")]},
        {"segments": [Segment(_LONG)], "limit": 140},
        {"segments": [Segment(_LONG[:200])], "capacity": 14},
        {"segments": [Segment("ab."), Segment(_LONG[:300])], "sentence_pause": 0.2, "loudness": -20.0},
        {"segments": [Segment(_LONG[:250])], "one_pass": True},
    ]
    yield from (case | {"statistics": True} for case in cases)


def _speech(case: Mapping[str, Any]) -> dict[str, Any]:
    fields = {
        "voice": "plain",
        "speed": 1.0,
        "seed": 0,
        "sentence_pause": 0.0,
        "clause_pause": 0.0,
        "trim": False,
        "end_pause": 0.25,
        "loudness": None,
        "stretch": True,
        "one_pass": False,
    }
    request = fields | {name: value for name, value in case.items() if name in fields}
    whole, limit, capacity = case.get("whole", False), case.get("limit", 510), case.get("capacity", 1000)
    statistics = case.get("statistics", False)
    return {
        "segments": [_stored(segment) for segment in case["segments"]],
        **request,
        "seed": str(request["seed"]),
        "whole": whole,
        "limit": limit,
        "capacity": capacity,
        "statistics": statistics,
        "expected": _expected(
            Request(phonemes=case["segments"], **request), whole, limit, capacity, statistics
        ),
    }


def _stored(segment: Segment) -> dict[str, Any]:
    manner = {"voice": segment.voice, "speed": segment.speed, "pause": segment.pause}
    if isinstance(segment.content, str):
        return {"phonemes": segment.content, **manner}
    return {"words": [[word.text, word.phonemes, word.whitespace] for word in segment.content], **manner}


def _expected(
    request: Request, whole: bool, limit: int, capacity: int, statistics: bool
) -> str | list[list[Any]]:
    """Returns the name of an error, or for each piece its phonemes, number of samples and digest."""
    try:
        known = STATISTICS if statistics else {}
        capabilities = Capabilities(tables(), VOCABULARY, limit, lambda: MEASURED, known)
        plans = plan_portions(capabilities, request, [request.whole], whole=whole)
        pieces = list(speak(next(plans), Model(capacity), plans))
    except KokoroError as error:
        return type(error).__name__
    return [[piece.phonemes, len(piece.samples), _digest(_content(piece))] for piece in pieces]


def _content(piece: Any) -> bytes:
    """Returns the bits of a piece: samples, durations, start, and lines of tokens, words, unspoken words."""
    lines = [
        *(_line(*timing) for timing in (*piece.tokens, *piece.words)),
        *(f"{word.text}|{word.offset}" for word in piece.unspoken),
    ]
    numbers = piece.samples.astype("<f4").tobytes() + piece.durations.astype("<i8").tobytes()
    return numbers + struct.pack("<d", piece.start) + "\n".join(lines).encode()


def _line(text: str, start: float, end: float) -> str:
    return f"{text}|{round(start * 24_000)}|{round(end * 24_000)}"


def text_of(found: Mapping[str, Sequence[Any]]) -> str:
    """Returns vectors as JSON, a line each."""
    groups = []
    for name, cases in found.items():
        if isinstance(cases, Mapping):
            groups.append(f"{json.dumps(name)}: {json.dumps(cases)}")
        else:
            lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
            groups.append(f"{json.dumps(name)}: [\n{lines}\n]")
    return "{\n" + ",\n".join(groups) + "\n}\n"


if __name__ == "__main__":
    PATH.write_text(text_of(vectors()), encoding="utf-8")
