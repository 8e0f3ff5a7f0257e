"""Measures each language of a bundle: its speed, and its speech beside that of an oracle's phonemes.

    python -m benchmarks.languages bundles/kokoro SENTENCES

SENTENCES is a folder with a file for each language, such as ``es.txt``: one sentence a line, perhaps with the
oracle's phonemes behind a tab. Without these, misaki makes those of Chinese and Japanese, and espeak-ng those
of the other languages. The oracle's phonemes are spoken by PyTorch, the bundle's own by the bundle.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from difflib import SequenceMatcher
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exporter.measure.figure_table import FigureTable
from exporter.reference.files import reference_files
from exporter.reference.process import Reference
from exporter.reference.utterances import Utterance, make_request
from runtime_min import Bundle
from runtime_min.model.alignment import align, round_durations
from runtime_min.text import espeak

REPORT = Path("docs/measured/languages.md")
VOICES = {
    "en-us": "af_heart", "en-gb": "bf_emma", "es": "ef_dora", "fr-fr": "ff_siwis", "hi": "hf_alpha",
    "it": "if_sara", "ja": "jf_alpha", "pt-br": "pf_dora", "zh": "zf_xiaobei",
}  # fmt: skip
SENTENCES = 30
_LEAST_PITCH = 50.0
"""Hz; what is below has no pitch."""
HEAD = (
    "language", "load", "first sentence", "characters a second", "phonemes as the oracle's", "length",
    "other durations", "median of F0",
)  # fmt: skip


class Spoken(NamedTuple):
    """What was computed for phonemes."""

    phonemes: str
    durations: NDArray[np.int64]
    """Frames of each phoneme."""
    pitches: NDArray[np.float64]
    """Mean F0 of each phoneme in Hz."""


def spoken(phonemes: str, frames: NDArray[np.int64], f0: NDArray[np.floating[Any]]) -> Spoken:
    """Takes the frames of the tokens, [tokens], and F0, [1, 2 * frames]."""
    ends = 2 * np.cumsum(frames)
    means = [float(each.mean()) for each in np.split(f0[0].astype(np.float64), ends[:-1])]
    return Spoken(phonemes, frames[1:-1], np.array(means[1:-1]))


def by_bundle(bundle: Bundle, phonemes: str, voice: str) -> Spoken:
    """Speaks with a bundle."""
    trace = bundle.trace(phonemes, voice)
    return spoken(phonemes, trace.durations, trace.f0)


def by_pytorch(reference: Reference, bundle: Bundle, phonemes: str, voice: str) -> Spoken:
    """Speaks with kokoro's own model."""
    pack = bundle.voice_tables[voice]
    request = make_request(Utterance(phonemes, voice), bundle.manifest.vocabulary, pack)
    trace = reference.text(request)
    frames = round_durations(trace.durations, request.speed)
    f0, _ = reference.f0n(align(trace.encoding, frames), request.style.prosody)
    return spoken(phonemes, frames, f0)


@cache
def oracle_of(language: str) -> Callable[[str], str]:
    """Returns what makes the phonemes with which Kokoro was trained."""
    if language == "ja":
        cutlet = import_module("misaki.cutlet").Cutlet()
        return lambda text: str(cutlet(text)[0])
    if language == "zh":
        chinese = import_module("misaki.zh").ZHG2P()
        return lambda text: str(chinese(text)[0])
    own = espeak(language)
    return lambda text: joined(own(text))


def joined(words: Any) -> str:
    """Returns the phonemes of words."""
    return "".join([(word.phonemes or "") + word.whitespace for word in words]).strip()


def measured(bundle: Bundle, reference: Reference, language: str, lines: list[str]) -> tuple[str, ...]:
    """Returns the row of a language."""
    rows = [line.partition("\t")[::2] for line in lines]
    started = time.perf_counter()
    g2p = bundle.find_g2p(language)[1]
    loaded = time.perf_counter()
    g2p(rows[0][0])
    first = time.perf_counter()
    read = time.process_time()
    ours = [joined(g2p(text)) for text, _ in rows]
    speed = sum(len(text) for text, _ in rows) / (time.process_time() - read)
    theirs = [phonemes or oracle_of(language)(text) for text, phonemes in rows]
    known, voice = bundle_letters(bundle), VOICES[language]
    pairs = [
        (by_pytorch(reference, bundle, expected, voice), by_bundle(bundle, found, voice))
        for expected, found in zip(map(known, theirs), map(known, ours), strict=True)
        if expected and found and max(len(expected), len(found)) <= bundle.max_phonemes
    ]
    times = (f"{1000 * seconds:.0f} ms" for seconds in (loaded - started, first - loaded))
    return (language, *times, f"{speed:,.0f}", *compared(pairs))


def bundle_letters(bundle: Bundle) -> Callable[[str], str]:
    """Returns what leaves out the phonemes that Kokoro does not know."""
    return lambda phonemes: "".join(filter(bundle.manifest.vocabulary.__contains__, phonemes))


def compared(pairs: list[tuple[Spoken, Spoken]]) -> tuple[str, ...]:
    """Returns shares and distances of what the oracle's phonemes and the bundle's sound like."""
    same = moved = frames = all_phonemes = 0
    cents: list[float] = []
    for expected, found in pairs:
        matcher = SequenceMatcher(None, expected.phonemes, found.phonemes, False)
        all_phonemes += len(expected.phonemes)
        for start, other, size in matcher.get_matching_blocks():
            here, there = slice(start, start + size), slice(other, other + size)
            same += size
            frames += int(expected.durations[here].sum())
            moved += int(np.abs(expected.durations[here] - found.durations[there]).sum())
            pitch, own = expected.pitches[here], found.pitches[there]
            heard = (pitch > _LEAST_PITCH) & (own > _LEAST_PITCH)
            cents += np.abs(1200 * np.log2(own[heard] / pitch[heard])).tolist()
    lengths = [sum(int(each.durations.sum()) for each in side) for side in zip(*pairs, strict=True)]
    return (
        f"{same / all_phonemes:.1%}",
        f"{lengths[1] / lengths[0]:.3f}",
        f"{moved / frames:.1%}",
        f"{np.median(cents):.0f} cents",
    )


def main() -> None:
    """Measures and writes the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("sentences", type=Path)
    parser.add_argument("--output", type=Path, default=REPORT)
    options = parser.parse_args()
    rows = []
    with Bundle.load(options.bundle) as bundle:
        files = reference_files(bundle.manifest)
    with Reference(*files, 2) as reference:
        for language in VOICES:
            lines = (options.sentences / f"{language}.txt").read_text(encoding="utf-8").splitlines()
            # A bundle of its own, so that the first sentence is the first.
            with Bundle.load(options.bundle) as bundle:
                rows.append(measured(bundle, reference, language, lines[:SENTENCES]))
            print(*rows[-1], sep="\t", flush=True)
    note = (
        f"`python -m benchmarks.languages` wrote this on {time.strftime('%Y-%m-%d')}. The real voice spoke "
        f"{SENTENCES} sentences of each language twice: PyTorch the oracle's phonemes, the bundle its own. "
        "The last two columns are about the phonemes that both have: how much longer or shorter they are, "
        "as a share of their time, and by how much their F0 differs."
    )
    table = FigureTable("Languages beside their oracles", HEAD, tuple(rows), note=note)
    options.output.write_text(f"# Languages\n\n{table.markdown()}", encoding="utf-8")


if __name__ == "__main__":
    main()
