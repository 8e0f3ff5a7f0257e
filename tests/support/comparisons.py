"""A comparison of waveforms that is made up."""

from __future__ import annotations

from exporter.parity.figures import Comparison
from exporter.reference.utterances import Utterance
from runtime_min.model.distances import Figure

SAID = Utterance("abc", "af_heart", seed=7)


def waveform(value: float = 40.0, name: str = "v4", said: Utterance = SAID) -> Comparison:
    figures = (
        Figure("samples are numbers", 1, 1, at_least=True),
        Figure("durations that differ", 0, 0),
        Figure("durations rounded the other way", 0, 0),
        Figure("chain, dB", value, 30, at_least=True),
        Figure("level, dB off", 0.01, 0.1),
    )
    return Comparison(said, 80, figures, 3, name)
