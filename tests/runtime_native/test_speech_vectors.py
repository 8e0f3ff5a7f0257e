"""The native runtime computes speech of any length as the Python runtime does, to the bit."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from itertools import chain
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime_min.speech.split import find_breaks, split
from tests.support.native.probe import Probe, field
from tests.support.paths import ROOT
from tests.support.speech_vectors import PATH, VOCABULARY

VECTORS: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
HEADER = ROOT / "runtime_native" / "include" / "kokoro.h"


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Probe:
    return Probe("speech_probe", tmp_path_factory.mktemp("probe"))


def numbers(answer: str) -> list[int]:
    return [int(number) for number in answer.split()]


def test_breaks(probe: Probe) -> None:
    cases = VECTORS["breaks"]
    found = probe.ask(
        [
            f"breaks {field(phonemes)} {int(sentences is not None)} {' '.join(map(str, sentences or ()))}"
            for phonemes, sentences, _ in cases
        ]
    )
    assert found == [expected for *_, expected in cases]


def test_pieces(probe: Probe) -> None:
    cases = VECTORS["pieces"]
    phonemes = [case[0] for case in VECTORS["breaks"]]
    found = probe.ask(
        [f"pieces {field(phonemes[n])} {limit} {size} {before}" for n, limit, size, before, _ in cases]
    )
    assert [numbers(answer) for answer in found] == [ends for *_, ends in cases]


@settings(max_examples=25)
@given(
    st.lists(
        st.text([*VOCABULARY, *" \n\u2028…‥。！？、，—\"'”)］』»›«j"], max_size=60), min_size=20, max_size=20
    ),
    st.data(),
)
def test_any_phonemes_are_divided_as_in_python(probe: Probe, inputs: list[str], data: st.DataObject) -> None:
    limit = data.draw(st.integers(1, 60))
    size, before = data.draw(st.integers(1, limit)), data.draw(st.integers(0, 40))
    found = probe.ask([f"pieces {field(phonemes)} {limit} {size} {before}" for phonemes in inputs])
    assert [numbers(answer) for answer in found] == [
        split(phonemes, find_breaks(phonemes), limit=limit, size=size, before=before) for phonemes in inputs
    ]


def test_sentences(probe: Probe) -> None:
    cases = VECTORS["sentences"]
    found = probe.ask([f"sentences {field(text)}" for text, _ in cases])
    assert [numbers(answer) for answer in found] == [[*chain(*spans)] for _, spans in cases]


def test_seeds(probe: Probe) -> None:
    assert probe.ask([f"seed {seed} {first}" for seed, first, _ in VECTORS["seeds"]]) == [
        expected for *_, expected in VECTORS["seeds"]
    ]


def test_blends(probe: Probe) -> None:
    found = probe.ask([f"blend {field(voice)} {phonemes}" for voice, phonemes, _ in VECTORS["blends"]])
    assert [_named(answer) for answer in found] == [expected for *_, expected in VECTORS["blends"]]


def test_gains(probe: Probe) -> None:
    found = probe.ask([f"gain {field(voice)} {loudness}" for voice, loudness, _ in VECTORS["gains"]])
    assert [_named(answer) for answer in found] == [expected for *_, expected in VECTORS["gains"]]


@pytest.mark.parametrize(
    ("group", "question", "fields"), [("silence", "silence", 6), ("quietest", "quietest", 2)]
)
def test_quiet_places(probe: Probe, group: str, question: str, fields: int) -> None:
    cases = VECTORS[group]
    found = probe.ask([" ".join(map(str, (question, *case[:fields]))) for case in cases])
    assert [numbers(answer) for answer in found] == [case[fields:] for case in cases]


def test_joins(probe: Probe) -> None:
    cases = VECTORS["shifts"]
    found = probe.ask([f"shift {seed} {count} {period}" for seed, count, period, *_ in cases])
    assert [numbers(answer) for answer in found] == [[case[3]] for case in cases]
    fades = VECTORS["fades"]
    found = probe.ask([f"fade {left} {right} {period}" for left, right, period, *_ in fades])
    assert [hashlib.sha256(bytes.fromhex(answer)).hexdigest() for answer in found] == [
        case[3] for case in fades
    ]


def test_wav(probe: Probe) -> None:
    wav = VECTORS["wav"]
    found = probe.ask([f"header {rate} {count}" for rate, count, _ in wav["headers"]])
    assert found == [expected for *_, expected in wav["headers"]]
    assert probe.ask([f"pcm16 {wav['samples']}"]) == [wav["pcm16"]]


def test_characters(probe: Probe) -> None:
    (found,) = probe.ask(["characters"])
    for point, kind in enumerate(found):
        # What every version of Unicode that Python knows calls the same.
        if unicodedata.ucd_3_2_0.category(chr(point)) != "Cn":
            gap = unicodedata.category(chr(point))[0] in "PZ"
            assert int(kind) == chr(point).isspace() + 2 * gap, hex(point)


def test_speech_of_any_length(probe: Probe) -> None:
    found = probe.ask(["\n".join(_lines(case)) for case in VECTORS["speeches"]])
    for case, answer in zip(VECTORS["speeches"], found, strict=True):
        assert _pieces(answer) == case["expected"], case


def _lines(case: dict[str, Any]) -> list[str]:
    values = (case[name] for name in ("speed", "seed", "sentence_pause", "clause_pause"))
    ends = (
        int(case["trim"]),
        case["end_pause"],
        case["loudness"] or 0,
        int(case["stretch"]),
        int(case["one_pass"]),
    )
    first = (
        *("speech", field(case["voice"]), *values, *ends, int(case["whole"])),
        *(case["limit"], case["capacity"], int(case["statistics"]), field("".join(VOCABULARY))),
        len(case["segments"]),
    )
    return [" ".join(map(str, first)), *(_segment(segment) for segment in case["segments"])]


def _segment(segment: dict[str, Any]) -> str:
    words = segment.get("words", [])
    fields = [field(segment["voice"]), segment["speed"] or 0, segment["pause"], len(words)]
    if not words:
        fields.append(field(segment["phonemes"]))
    for text, phonemes, space in words:
        spoken = "!" if phonemes is None else "=" + phonemes.encode().hex()
        fields += [field(text), spoken, field(space)]
    return " ".join(map(str, fields))


def _pieces(answer: str) -> str | list[list[Any]]:
    if "error" in answer:
        return _named(answer[answer.index("error") :])
    fields = answer.split()
    return [
        [bytes.fromhex(phonemes).decode(), int(count), hashlib.sha256(bytes.fromhex(content)).hexdigest()]
        for phonemes, count, content in zip(*(fields[start::3] for start in range(3)), strict=True)
    ]


def _named(answer: str) -> str:
    """Returns an answer, or the name of the error in Python if it is one."""
    if not answer.startswith("error"):
        return answer
    code = HEADER.read_text().split(f" = {answer.split()[1]}", 1)[0].rpartition("KOKORO_")[2]
    return "".join(word.capitalize() for word in code.split("_"))
