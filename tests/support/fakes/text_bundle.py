"""A bundle with the data for English and a model that says silence."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from runtime_min import Bundle
from runtime_min.format.bundle_files import BundleFiles
from runtime_min.format.signatures import SAMPLES_PER_FRAME
from runtime_min.format.verify import manifest_of
from runtime_min.model.synthesiser import Prepared, Synthesiser, Utterance
from runtime_min.model.tokens import BOUNDARIES
from runtime_min.speech.request import Capabilities
from runtime_min.text.english import English
from tests.support.fakes.synthesiser import VOICE, Ready, ready

PHONEMES = 'AIOWYQTbdfhijklmnpstuvwzæðŋɑɒɔəɛɜɡɪɹʃʊʌʒøʁʤʧˈˌːθᵊᵻɐaeoʔɾɲʎʦʣS ;:,.!?—…"()“”'
_VOICES = ("af_heart", "am_adam", "bf_emma", "ef_dora", "if_sara")


class TextBundle(Bundle):
    """A `Bundle` whose model is a fake one."""

    def __init__(self, directory: Path) -> None:
        """Opens the one of the fixture `text_bundle`."""
        self._files = BundleFiles(directory)
        self.directory = directory
        self.manifest = manifest_of(self._files)
        self.voice_tables = dict.fromkeys(_VOICES, VOICE)
        self.gate = threading.Event()
        """Nothing is computed after the first piece while it is not set."""
        self.gate.set()
        self._text = None
        self._stages = {}

    @property
    def threads(self) -> int:
        return 1

    @property
    def max_phonemes(self) -> int:
        return 510

    def _capabilities(self) -> Capabilities:
        return Capabilities(self.voice_tables, dict.fromkeys(PHONEMES, 1), self.max_phonemes)

    def _synthesiser(self) -> Synthesiser:
        return _Silence(self.gate)

    def close(self) -> None:
        """Closes the files."""
        self.gate.set()
        self._files.close()
        self.closed = True


class _Silence(Ready):
    """Says two frames of silence for each phoneme."""

    def __init__(self, gate: threading.Event) -> None:
        self._gate = gate
        self._begun = False

    def prepare(self, utterance: Utterance) -> Prepared:
        durations = np.full(len(utterance.phonemes) + BOUNDARIES, 2)
        return ready(np.zeros(SAMPLES_PER_FRAME * durations.sum(), np.float32), durations)

    def decode(self, prepared: Prepared, start: int, end: int) -> np.ndarray:
        if self._begun:
            self._gate.wait(20)
        self._begun = True
        return super().decode(prepared, start, end)


def count_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Returns a list that gets the number of characters of each text that becomes phonemes from now on."""
    found: list[int] = []
    read = English.read

    def counted(english: English, text: str) -> object:
        found.append(len(text))
        return read(english, text)

    monkeypatch.setattr(English, "read", counted)
    return found
