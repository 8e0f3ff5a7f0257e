"""Counts the words that a recogniser gets wrong, for PyTorch, ONNX Runtime and bundles with the same weights.

python -m benchmarks.listening bundles/kokoro --output docs/measured/listening.md
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.progress import track

from benchmarks.listening.recogniser import (
    VOICES,
    Recogniser,
    in_order,
    normalised,
    read_forms,
    read_sentences,
    words_wrong,
)
from exporter.model.file_format import file_format
from exporter.reference.files import reference_files
from exporter.reference.process import Reference
from exporter.reference.traces import ModelInput
from exporter.reference.utterances import Utterance, make_request
from runtime_min import Bundle
from runtime_min.engine.machine import processor_name

Samples = NDArray[np.float32]
Speak = Callable[[str, str], Samples]
"""Takes phonemes and the name of a voice."""
Wrong = Mapping[str, Sequence[int]]
"""Numbers of words of each sentence that were not recognised, by voice."""


def main(
    paths: Annotated[list[Path], typer.Argument(metavar="BUNDLE...", help="Bundles of one checkpoint.")],
    sentences: Annotated[int, typer.Option(help="Number of sentences, of 100.", min=1, max=100)] = 100,
    output: Annotated[Path, typer.Option(help="Page to write.")] = Path("docs/measured/listening.md"),
) -> None:
    """Compare how well a recogniser understands each engine."""
    recogniser, texts = Recogniser(), read_sentences()[:sentences]
    with ExitStack() as stack:
        bundles = [stack.enter_context(Bundle.load(path)) for path in paths]
        first = bundles[0]
        said = {voice: [_phonemes(first, text, voice) for text in texts] for voice in VOICES}
        engines = {f"bundle, {each.manifest.precision}": _bundle(each) for each in bundles}
        engines |= _others(first, stack)
        wrong = {
            name: {voice: _wrong(recogniser, speak, voice, texts, said[voice], name) for voice in VOICES}
            for name, speak in engines.items()
        }
        understood = [_understood(recogniser, first, voice) for voice in VOICES]
        output.write_text(_page(first, texts, wrong, understood), encoding="utf-8")
        # By engine and voice, the words that were wrong of each sentence.
        output.with_suffix(".json").write_text(json.dumps(wrong) + "\n", encoding="utf-8")
    typer.echo(f"saved {output}")


def _phonemes(bundle: Bundle, text: str, voice: str) -> str:
    with bundle.stream(text, voice) as stream:
        return stream.phonemes


def _request(bundle: Bundle, phonemes: str, voice: str) -> ModelInput:
    return make_request(Utterance(phonemes, voice), bundle.manifest.vocabulary, bundle.voice_tables[voice])


def _bundle(bundle: Bundle) -> Speak:
    return lambda phonemes, voice: bundle.synthesize(phonemes=phonemes, voice=voice, seed=0).samples


def _others(bundle: Bundle, stack: ExitStack) -> dict[str, Speak]:
    """Returns PyTorch with the checkpoint's own weights, and ONNX Runtime if the checkpoint is its file."""
    checkpoint, config = reference_files(bundle.manifest)
    reference = stack.enter_context(Reference(checkpoint, config, bundle.threads))

    def in_torch(phonemes: str, voice: str) -> Samples:
        audio: Samples = reference.speak(_request(bundle, phonemes, voice)).audio[0]
        return audio

    others: dict[str, Speak] = {"PyTorch": in_torch}
    if file_format(checkpoint) == "onnx":
        others["ONNX Runtime, the file in 8 bits"] = _onnxruntime(checkpoint, bundle)
    return others


def _onnxruntime(path: Path, bundle: Bundle) -> Speak:
    from onnxruntime import InferenceSession

    session = InferenceSession(path, providers=["CPUExecutionProvider"])

    def speak(phonemes: str, voice: str) -> Samples:
        request = _request(bundle, phonemes, voice)
        inputs = {"tokens": request.token_ids[None], "style": request.row, "speed": np.ones(1, np.float32)}
        found: Samples = np.asarray(session.run(None, inputs)[0], np.float32).ravel()
        return found

    return speak


def _wrong(
    recogniser: Recogniser, speak: Speak, voice: str, texts: Sequence[str], said: Sequence[str], name: str
) -> list[int]:
    """Returns for each text the number of words that the recogniser gets wrong of one voice."""
    pairs = track(list(zip(texts, said, strict=True)), f"{name}, {voice}")
    return [
        words_wrong(normalised(text), recogniser.words(speak(phonemes, voice))) for text, phonemes in pairs
    ]


def _understood(recogniser: Recogniser, bundle: Bundle, voice: str) -> list[bool]:
    """Returns for each written form whether its words are heard, in their order."""
    return [
        in_order(words, recogniser.words(bundle.synthesize(text, voice).samples))
        for text, words in track(read_forms(), f"written forms, {voice}")
    ]


def _row(name: str, wrong: Wrong, texts: Sequence[str]) -> str:
    count = sum(len(normalised(text)) for text in texts)
    numbers = [sum(wrong[voice]) for voice in VOICES]
    shares = [100 * number / count for number in (*numbers, sum(numbers) / len(numbers))]
    return f"| {name} | {' | '.join(f'{share:.1f} %' for share in shares)} |"


def _page(
    bundle: Bundle, texts: Sequence[str], wrong: Mapping[str, Wrong], understood: Sequence[list[bool]]
) -> str:
    forms = read_forms()
    rows = [_row(name, each, texts) for name, each in wrong.items()]
    never = [text for (text, _), *heard in zip(forms, *understood, strict=True) if not any(heard)]
    counts = ", ".join(f"{voice} {sum(heard)}" for voice, heard in zip(VOICES, understood, strict=True))
    by_any = len(forms) - len(never)
    return f"""# Understood by a recogniser

`python -m benchmarks.listening` wrote this page on {time.strftime("%Y-%m-%d")}, {processor_name()}.

pocketsphinx heard {len(texts)} [sentences](../../benchmarks/listening/sentences.txt) of each voice. This old
recogniser misses words of people too, so compare the figures with each other only. All engines spoke the
same phonemes with the same weights ({bundle.manifest.model.name}). The figures are the shares of words that
were wrong, missing or added:

| engine | {" | ".join(VOICES)} | all |
| --- |{" ---: |" * (len(VOICES) + 1)}
{chr(10).join(rows)}

## Written forms

{len(forms)} [sentences](../../benchmarks/listening/written_forms.txt) have numbers, dates, money, units and
abbreviations. In {by_any} of them the recogniser heard the intended words from at least one voice ({counts}).
In these it heard them from no voice:

{chr(10).join(f"- {text}" for text in never)}
"""


if __name__ == "__main__":
    typer.run(main)
