"""The synthetic checkpoint is the same everywhere, and behaves like the real model."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from exporter.model import checkpoint, synthetic
from exporter.model.checkpoint import Checkpoint
from exporter.model.config import OFFICIAL_CONFIG, PARTS
from exporter.model.voice_packs import load_voices, synthetic_voice
from runtime_min.format.signatures import SAMPLES_PER_FRAME
from runtime_min.model.distances import relative_rms
from tests.support.paths import REAL_VOICES

PHONEMES = "ðə kwˈɪk bɹˈWn fˈɑks ʤˈʌmps ˈOvəɹ ðə dˈɔɡ."


@dataclass(frozen=True)
class Utterance:
    durations: np.ndarray
    """Not rounded, at speed 1."""
    frames: np.ndarray
    """Of each token."""
    f0: np.ndarray
    energy: np.ndarray
    audio: np.ndarray
    """Empty where the decoder was left out."""


class _Enough(Exception):
    """Stops kokoro's forward before the decoder."""


class Speaker:
    """kokoro on the synthetic weights, with its prosody recorded."""

    def __init__(self, loaded: Checkpoint) -> None:
        self.model = loaded.model
        self.vocabulary = loaded.vocabulary
        self._seen: dict[str, Any] = {}
        predictor = self.model.predictor
        predictor.duration_proj.register_forward_hook(
            lambda _, args, out: self._seen.update(durations=torch.sigmoid(out).sum(-1)[0].numpy())
        )
        self.model.decoder.register_forward_pre_hook(self._before_decoder)
        self._speak_aloud = True

    def _before_decoder(self, _: Any, args: tuple[torch.Tensor, ...]) -> None:
        _asr, f0, energy, _style = args
        self._seen.update(f0=f0[0].numpy(), energy=energy[0].numpy())
        if not self._speak_aloud:
            raise _Enough

    def __call__(
        self, ids: list[int], voice: np.ndarray, speed: float = 1.0, seed: int = 0, aloud: bool = True
    ) -> Utterance:
        self._speak_aloud = aloud
        style = torch.from_numpy(voice[len(ids) - 1])[None]
        torch.manual_seed(seed)
        audio = torch.zeros(0)
        try:
            audio, _ = self.model.forward_with_tokens(torch.tensor([[0, *ids, 0]]), style, speed)
        except _Enough:
            assert not aloud
        frames = np.maximum(np.rint(self._seen["durations"] / np.float32(speed)), 1)
        return Utterance(audio=audio.numpy(), frames=frames, **self._seen)

    def ids(self, phonemes: str) -> list[int]:
        return [self.vocabulary[phoneme] for phoneme in phonemes]

    def random_ids(self, count: int, seed: int = 0) -> list[int]:
        return np.random.default_rng(seed).choice(sorted(self.vocabulary.values()), count).tolist()


@pytest.fixture(scope="module")
def speak() -> Speaker:
    return Speaker(checkpoint.load("synthetic"))


@pytest.fixture(scope="module")
def plain(speak: Speaker) -> Utterance:
    return speak(speak.ids(PHONEMES[:12]), synthetic_voice("af_heart"))


def test_the_numbers_of_a_name_never_change() -> None:
    np.testing.assert_array_equal(
        synthetic.uniform("name", (4,)),
        np.array(GOLDEN_UNIFORM, np.float32),
    )
    values = synthetic.uniform("range", (100_001,))
    assert -1 <= values.min() < -0.999 and 0.999 < values.max() < 1
    assert abs(values.mean()) < 0.01 and abs(values.std() - 3**-0.5) < 0.01


def test_every_byte_of_every_tensor_is_the_known_one(speak: Speaker) -> None:
    digest = hashlib.sha256()
    for part in PARTS:
        for name, tensor in sorted(getattr(speak.model, part).state_dict().items()):
            digest.update(f"{part}.{name}".encode() + tensor.numpy().tobytes())
    assert digest.hexdigest() == GOLDEN_DIGEST


def test_the_file_has_the_official_layout(tmp_path: Path) -> None:
    path = synthetic.ensure_file(OFFICIAL_CONFIG, tmp_path)
    assert re.fullmatch(r"synthetic-[0-9a-f]{16}\.pth", path.name)
    states = torch.load(path, weights_only=True)
    assert set(states) == {"bert", "bert_encoder", "predictor", "decoder", "text_encoder"}
    names = [f"{part}.{name}" for part, state in states.items() for name in state]
    assert all(".module." in name for name in names)
    assert "decoder.module.generator.conv_post.weight_g" in names
    # The official file leaves out the 140 identities of its instance norms.
    assert (len(names), sum(".norm." in name for name in names)) == (688, 140)
    before = path.stat().st_mtime_ns
    assert synthetic.ensure_file(OFFICIAL_CONFIG, tmp_path) == path
    assert path.stat().st_mtime_ns == before
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    other = tmp_path / "config.json"
    other.write_text(OFFICIAL_CONFIG.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert synthetic.file_name(other) != path.name


def test_prosody_is_that_of_speech(speak: Speaker) -> None:
    voices = [synthetic_voice(name) for name in ("af_heart", "am_michael", "bf_emma")]
    said = [speak(speak.random_ids(60, seed), voice, aloud=False) for seed, voice in enumerate(voices)]
    _check_durations(np.concatenate([utterance.durations for utterance in said]))
    _check_f0(said[0].f0)
    energy = said[0].energy
    assert -13 < energy.min() < -7  # the real model: -9.6
    assert 6 < energy.max() < 13  # 8.1
    assert 4 < energy.std() < 7  # 5.4


def _check_durations(durations: np.ndarray) -> None:
    frames = np.maximum(np.rint(durations), 1)
    assert 2.2 < frames.mean() < 3.4  # the real model: 2.7
    assert frames.max() <= 17  # 14
    assert np.mean(frames <= 3) > 0.6  # 0.83
    assert np.mean(frames >= 6) > 0.02  # 0.08
    # A staircase would make rounding errors invisible: most values lie between the steps.
    assert np.mean(np.abs(durations - np.rint(durations)) > 0.1) > 0.4


def _check_f0(f0: np.ndarray) -> None:
    voiced = f0 > 10
    assert 0.4 < voiced.mean() < 0.8  # the real model: 0.58
    assert 120 < np.median(f0[voiced]) < 230  # 192
    assert f0.max() < 450  # 298
    assert np.mean(f0[voiced] > 80) > 0.85
    assert -6 < f0.min() < -1
    assert -2.5 < np.median(f0[~voiced]) < -0.3  # -1.8 at the least
    switches = np.count_nonzero(voiced[1:] != voiced[:-1])
    assert 4 < len(f0) / switches < 40  # stretches of frames, no flicker


def test_audio_is_as_loud_as_speech_and_does_not_clip(plain: Utterance) -> None:
    assert len(plain.audio) == SAMPLES_PER_FRAME * plain.frames.sum()
    assert 0.05 < np.sqrt(np.mean(plain.audio**2)) < 0.07
    assert np.abs(plain.audio).max() < 1


def test_another_noise_seed_changes_the_audio_by_9_to_10_percent(speak: Speaker, plain: Utterance) -> None:
    distances = []
    for seed in (1, 2, 3):
        other = speak(speak.ids(PHONEMES[:12]), synthetic_voice("af_heart"), seed=seed)
        np.testing.assert_array_equal(other.f0, plain.f0)
        distances.append(relative_rms(other.audio, plain.audio))
    assert 0.09 < np.median(distances) < 0.10


def _another_token(ids: list[int]) -> list[int]:
    return [*ids[:6], 43 if ids[6] != 43 else 44, *ids[7:]]


@pytest.mark.parametrize(
    "change",
    [
        lambda speak, ids: speak(_another_token(ids), synthetic_voice("af_heart")),
        lambda speak, ids: speak(ids, synthetic_voice("am_michael")),
        lambda speak, ids: speak(ids, synthetic_voice("af_heart"), speed=1.3),
    ],
    ids=["token", "voice", "speed"],
)
def test_what_is_said_how_and_how_fast_changes_everything(
    speak: Speaker, plain: Utterance, change: Callable[[Speaker, list[int]], Utterance]
) -> None:
    other = change(speak, speak.ids(PHONEMES[:12]))
    assert not np.array_equal(other.frames, plain.frames)
    common = min(len(other.f0), len(plain.f0))
    assert relative_rms(other.f0[:common], plain.f0[:common]) > 0.1
    common *= SAMPLES_PER_FRAME // 2
    assert relative_rms(other.audio[:common], plain.audio[:common]) > 0.3


def test_one_token_reaches_the_durations_of_all_others(speak: Speaker, plain: Utterance) -> None:
    other = speak(_another_token(speak.ids(PHONEMES[:12])), synthetic_voice("af_heart"), aloud=False)
    assert np.abs(other.durations - plain.durations).min() > 1e-4
    assert np.abs(other.durations - plain.durations).max() > 0.3


def test_the_longest_input_at_a_quarter_of_the_speed_exceeds_the_largest_frame_bucket(
    speak: Speaker,
) -> None:
    ids, voice = speak.random_ids(510), synthetic_voice("af_heart")
    durations = speak(ids, voice, aloud=False).durations
    assert 1000 < np.maximum(np.rint(durations), 1).sum() < 2500
    assert np.rint(durations * 4).sum() > 5120


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3, 10, 42, 60, 103, 217])
def test_every_voice_is_calibrated_at_every_length(speak: Speaker, count: int) -> None:
    said = [
        speak(speak.random_ids(count, seed), voice, aloud=False)
        for seed, voice in enumerate(_all_voices().values())
    ]
    f0 = np.concatenate([utterance.f0 for utterance in said])
    assert 0.4 < np.mean(f0 > 10) < 0.8
    assert f0.min() > -30 and f0.max() < 600
    assert all(-16 < utterance.energy.min() < utterance.energy.max() < 20 for utterance in said)
    # The shortest utterances have styles far from all others.
    assert 1.7 < np.concatenate([utterance.frames for utterance in said]).mean() < 4
    if count >= 42:
        _check_durations(np.concatenate([utterance.durations for utterance in said]))


@pytest.mark.slow
def test_every_voice_is_as_loud_as_speech(speak: Speaker) -> None:
    for seed, (name, voice) in enumerate(_all_voices().items()):
        ids = speak.random_ids(12, seed)
        first, second = (speak(ids, voice, seed=noise).audio for noise in (0, 1))
        assert 0.05 < np.sqrt(np.mean(first**2)) < 0.07, name
        assert np.abs(first).max() < 1, name
        assert 0.08 < relative_rms(second, first) < 0.11, name


def _all_voices() -> dict[str, np.ndarray]:
    """The real voices where they are at hand, or their synthetic twins."""
    return load_voices(str(REAL_VOICES) if REAL_VOICES.is_dir() else "synthetic")


GOLDEN_UNIFORM = (-0.04471230506896973, -0.12298166751861572, 0.035475730895996094, 0.08336591720581055)
GOLDEN_DIGEST = "b45b8bb15203c3be9f077d83b4c86ecf018e8d043f291a4a6b03c18a2cf84bd4"
