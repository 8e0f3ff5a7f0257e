"""Joins in numbers: step, flux, level and pitch where pieces meet, beside the same inside the pieces.

The synthetic weights babble on through punctuation, and their F0 follows the whole context however far away.
So what can be shown here is that a join is no worse than any other place; `test_join.py` shows on
voiced sounds that phase, level and power go on.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

from runtime_min import Bundle
from runtime_min.model import synthesiser
from runtime_min.model.alignment import align, round_durations
from runtime_min.model.chain import Trace
from runtime_min.model.tokens import tokenise
from runtime_min.model.voices import style_row
from runtime_min.speech.join import HALF_FADE, Joiner, Part
from tests.support.utterances import phonemes_of

pytestmark = pytest.mark.e2e

TEXT = " ".join(phonemes_of(tokens) for tokens in (60, 45, 100, 30, 80))
VOICES = ("af_heart", "am_adam", "bf_emma")


@dataclass
class Spoken:
    """A text in pieces and in one piece."""

    samples: np.ndarray
    meetings: list[int]
    """The samples at which pieces meet."""
    borders: list[int]
    """The phonemes before which they do."""
    prosody: np.ndarray
    """``[2, phonemes]``, F0 and energy of each phoneme in the piece from which it is heard."""
    whole: np.ndarray
    """The same in one piece."""


def per_phoneme(durations: np.ndarray, f0: np.ndarray, energy: np.ndarray) -> np.ndarray:
    """The mean F0 and energy of each phoneme."""
    borders = 2 * np.concatenate([[0], np.cumsum(durations)])
    values = np.concatenate([f0, energy])
    return np.array([values[:, begin:end].mean(axis=1) for begin, end in pairwise(borders)]).T[:, 1:-1]


def one_piece(bundle: Bundle, voice: str) -> tuple[np.ndarray, np.ndarray]:
    """Token ids and prosody of the whole text in one piece, which need not be decoded."""
    token_ids = tokenise(TEXT, bundle.manifest.vocabulary)
    prosody = {"prosody_style": style_row(bundle.voice_tables, voice, len(TEXT)).prosody}
    hidden = bundle.stage("bert").run({"token_ids": token_ids})
    predicted = bundle.stage("duration").run({**hidden, **prosody})
    durations = round_durations(predicted["durations"], 1.0)
    aligned = {"aligned_encoding": align(predicted["encoding"], durations)}
    found = bundle.stage("f0n").run({**aligned, **prosody})
    return token_ids[0, 1:-1], per_phoneme(durations, found["f0"], found["energy"])


@pytest.fixture(scope="module", params=VOICES)
def spoken(bundle: Bundle, request: pytest.FixtureRequest) -> Spoken:
    traces: list[Trace] = []
    meetings: list[int] = []
    chain, fade = synthesiser.run_chain, Joiner._crossfade

    def recording_chain(*arguments: object) -> Trace:
        traces.append(chain(*arguments))  # type: ignore[arg-type]
        return traces[-1]

    def recording_fade(self: Joiner, cut: int, part: Part, right: int) -> int:
        meetings.append(self._begin + cut)
        return fade(self, cut, part, right)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synthesiser, "run_chain", recording_chain)
        patch.setattr(Joiner, "_crossfade", recording_fade)
        pieces = list(bundle.stream(TEXT, request.param))
    starts = np.cumsum([0, *(len(piece.phonemes) for piece in pieces)]).tolist()
    assert starts[-1] == len(TEXT) and len(meetings) == len(pieces) - 1 == len(traces) - 1 >= 4
    tokens, whole = one_piece(bundle, request.param)
    heard = []
    for (start, end), trace in zip(pairwise(starts), traces, strict=True):
        # The context before is at most 12 phonemes long.
        own, froms = trace.token_ids[0, 1:-1], range(max(0, start - 12), start + 1)
        begin = next(at for at in froms if np.array_equal(tokens[at : at + len(own)], own))
        values = per_phoneme(trace.durations, trace.f0, trace.energy)
        heard.append(values[:, start - begin : end - begin])
    samples = np.concatenate([piece.samples for piece in pieces])
    return Spoken(samples, meetings, starts[1:-1], np.concatenate(heard, axis=1), whole)


def near(spoken: Spoken, count: int, hop: int, reach: int) -> np.ndarray:
    """Tells which of `count` frames of `hop` samples lie within `reach` of a join."""
    distances = np.abs(hop * np.arange(count)[:, None] - np.array(spoken.meetings))
    return distances.min(axis=1) <= reach


def test_no_step_at_a_join_is_larger_than_inside_the_pieces(spoken: Spoken) -> None:
    steps = np.abs(np.diff(spoken.samples))
    at = near(spoken, len(steps), 1, HALF_FADE)
    assert steps[at].max() <= steps[~at].max()
    assert np.quantile(steps[at], 0.99) <= 1.1 * np.quantile(steps[~at], 0.99)


def test_the_spectral_flux_at_joins_is_no_higher_than_the_99th_percentile_inside(spoken: Spoken) -> None:
    windows = np.lib.stride_tricks.sliding_window_view(spoken.samples, 480)[::120] * np.hanning(480)
    flux = np.maximum(np.diff(np.abs(np.fft.rfft(windows)), axis=0), 0).sum(axis=1)
    at = near(spoken, len(flux), 120, HALF_FADE)
    assert flux[at].max() <= np.quantile(flux[~at], 0.99)


def test_the_level_changes_no_more_at_a_join_than_inside(spoken: Spoken) -> None:
    """From 50 ms before to 50 ms behind, where the synthetic weights' renderings differ by up to 2 dB."""
    window = 1_200
    squares = np.cumsum(np.concatenate([[0.0], spoken.samples.astype(np.float64) ** 2]))
    levels = 10 * np.log10(squares[window:] - squares[:-window])
    changes = np.abs(levels[window:] - levels[:-window])
    assert changes[np.array(spoken.meetings) - window].max() <= changes.max() / 1.1


def test_pitch_and_energy_are_as_near_to_those_of_one_piece_at_joins_as_inside(spoken: Spoken) -> None:
    """Three phonemes on both sides of each join, 24 in all, against the others."""
    distances = np.abs(spoken.prosody - spoken.whole)
    at = np.zeros(len(TEXT), bool)
    for border in spoken.borders:
        at[border - 3 : border + 3] = True
    f0, energy = distances[:, at].mean(axis=1) / distances[:, ~at].mean(axis=1)
    assert f0 <= 1.2
    assert energy <= 1.5
