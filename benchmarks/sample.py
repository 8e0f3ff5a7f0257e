"""The sample in README.md, for listeners who have installed nothing: a bundle's voices, as sound and picture.

python -m benchmarks.sample bundles/kokoro docs/voices
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from exporter.plotting import BLUE, as_svg
from runtime_min import Audio, Bundle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINES = (
    ("af_heart", "Hello! I'm Heart. On 3 May 2025 I read this for $4.50, without PyTorch."),
    ("bm_george", "And I'm George. We run on your own machine, with numpy and a few megabytes."),
    ("ef_dora", "Yo soy Dora, y hablo español. ¿Cuántos idiomas habla usted?"),
    ("am_michael", "The quick brown fox jumps over the lazy dog."),
)
"""Voices and their texts: about 17 s."""
_PAUSE = 0.15
"""Seconds between two voices, besides their own silence."""
_WINDOW, _STEP = 512, 960
"""Samples of a spectrum, and between two of them."""
_KILOHERTZ = 8.0
"""Highest frequency that is shown."""
_FLOOR = -66.0
"""Decibels below the loudest point that are shown as silence."""


def main(bundle: Path, output: Path) -> None:
    """Writes ``output.opus`` and ``output.svg``."""
    with Bundle.load(bundle) as loaded:
        spoken = [loaded.synthesize(text, voice, seed=0) for voice, text in LINES]
    pause = np.zeros(round(_PAUSE * spoken[0].sample_rate), np.float32)
    samples = np.concatenate([part for audio in spoken for part in (audio.samples, pause)])
    sound = Audio(samples, spoken[0].sample_rate, np.zeros(0, np.int64))
    sound.save(output.with_suffix(".opus"))
    starts = np.cumsum([0, *(audio.samples.size + pause.size for audio in spoken[:-1])]) / sound.sample_rate
    picture = as_svg(8, 3.4, lambda figure: _draw(figure, sound, starts.tolist()))
    output.with_suffix(".svg").write_text(picture, encoding="utf-8")


def _draw(figure: Figure, sound: Audio, starts: list[float]) -> None:
    """Draws the waveform above its spectrogram."""
    seconds = sound.samples.size / sound.sample_rate
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1, 2))
    edges = np.linspace(0, sound.samples.size, 1601).astype(int)
    blocks = [sound.samples[start:end] for start, end in pairwise(edges)]
    middles = (edges[:-1] + edges[1:]) / 2 / sound.sample_rate
    lowest, highest = [block.min() for block in blocks], [block.max() for block in blocks]
    above.fill_between(middles, lowest, highest, color=BLUE, linewidth=0)
    above.set_yticks([])
    for (voice, _), start in zip(LINES, starts, strict=True):
        above.text(start + 0.3, 1.02, voice, transform=above.get_xaxis_transform(), fontsize=8)
    windows = np.lib.stride_tricks.sliding_window_view(sound.samples, _WINDOW)[::_STEP]
    power = np.abs(np.fft.rfft(windows * np.hanning(_WINDOW))) ** 2
    shown = power[:, : round(_KILOHERTZ * 1000 * _WINDOW / sound.sample_rate)]
    # Steps of 3 dB make the picture a third as large.
    decibels = 3 * np.rint(10 / 3 * np.log10(shown / power.max() + 1e-12))
    extent = (0, seconds, 0, _KILOHERTZ)
    levels = {"cmap": "magma", "vmin": _FLOOR, "vmax": 0}
    below.imshow(decibels.T, **levels, origin="lower", aspect="auto", extent=extent, interpolation="none")
    below.grid(visible=False)
    below.set_xlabel("seconds")
    below.set_ylabel("kHz")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
