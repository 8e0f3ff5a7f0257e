"""The synthetic checkpoint is the same everywhere, and behaves like the real model."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from exporter.compiler.kokoro_model import build_model
from exporter.model import synthetic
from exporter.model.checkpoint import Checkpoint
from exporter.model.config import OFFICIAL_CONFIG, PARTS
from exporter.model.voice_packs import load_voices, synthetic_voice
from exporter.reference.process import Reference
from exporter.reference.traces import ModelInput, ReferenceTrace
from runtime_min.format.signatures import SAMPLES_PER_FRAME
from runtime_min.model.distances import relative_rms
from tests.support.paths import REAL_VOICES

PHONEMES = "ðə kwˈɪk bɹˈ"
HEART = synthetic_voice("af_heart")


def request(ids: list[int], voice: np.ndarray, **changes: Any) -> ModelInput:
    """One for phonemes with these token ids."""
    return ModelInput(np.array([0, *ids, 0]), voice[len(ids) - 1][None], **changes)


def ids_of(loaded: Checkpoint) -> list[int]:
    return [loaded.vocabulary[phoneme] for phoneme in PHONEMES]


def random_ids(loaded: Checkpoint, count: int, seed: int = 0) -> list[int]:
    return np.random.default_rng(seed).choice(sorted(loaded.vocabulary.values()), count).tolist()


def prosody(reference: Reference, ids: list[int], voice: np.ndarray) -> SimpleNamespace:
    """Durations before rounding, frames, F0 and energy."""
    asked = request(ids, voice)
    text = reference.text(asked)
    frames = np.maximum(np.rint(text.durations[0]), 1).astype(np.int64)
    f0, energy = reference.f0n(np.repeat(text.encoding, frames, axis=2), asked.style.prosody)
    return SimpleNamespace(durations=text.durations[0], frames=frames, f0=f0[0], energy=energy[0])


@pytest.fixture(scope="module")
def plain(loaded: Checkpoint, reference: Reference) -> ReferenceTrace:
    return reference.speak(request(ids_of(loaded), HEART))


def test_the_numbers_of_a_name_never_change() -> None:
    np.testing.assert_array_equal(
        synthetic.uniform("name", (4,)),
        np.array(GOLDEN_UNIFORM, np.float32),
    )
    values = synthetic.uniform("range", (100_001,))
    assert -1 <= values.min() < -0.999 and 0.999 < values.max() < 1
    assert abs(values.mean()) < 0.01 and abs(values.std() - 3**-0.5) < 0.01


def test_every_byte_of_every_tensor_is_the_known_one(loaded: Checkpoint) -> None:
    # The loaded model has no weight_norm any more, and the file no instance norms.
    model, states = build_model(loaded.config), torch.load(loaded.path, weights_only=True)
    digest = hashlib.sha256()
    for part in PARTS:
        module = getattr(model, part)
        stored = {name.removeprefix("module."): tensor for name, tensor in states[part].items()}
        assert not module.load_state_dict(stored, strict=False).unexpected_keys
        for name, tensor in sorted(module.state_dict().items()):
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


def test_prosody_is_that_of_speech(loaded: Checkpoint, reference: Reference) -> None:
    voices = [synthetic_voice(name) for name in ("af_heart", "am_michael", "bf_emma")]
    said = [prosody(reference, random_ids(loaded, 60, seed), voice) for seed, voice in enumerate(voices)]
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


def test_audio_is_as_loud_as_speech_and_does_not_clip(plain: ReferenceTrace) -> None:
    assert plain.audio.size == SAMPLES_PER_FRAME * plain.frames.sum()
    assert 0.05 < np.sqrt(np.mean(plain.audio**2)) < 0.07
    assert np.abs(plain.audio).max() < 1


def test_another_noise_seed_changes_the_audio_by_9_to_10_percent(
    loaded: Checkpoint, reference: Reference, plain: ReferenceTrace
) -> None:
    distances = []
    for seed in (1, 2, 3):
        other = reference.speak(request(ids_of(loaded), HEART, seed=seed))
        np.testing.assert_array_equal(other.f0, plain.f0)
        distances.append(relative_rms(other.audio, plain.audio))
    assert 0.09 < np.median(distances) < 0.10


def _another_token(ids: list[int]) -> list[int]:
    return [*ids[:6], 43 if ids[6] != 43 else 44, *ids[7:]]


@pytest.mark.parametrize(
    "change",
    [
        lambda ids: request(_another_token(ids), HEART),
        lambda ids: request(ids, synthetic_voice("am_michael")),
        lambda ids: request(ids, HEART, speed=1.3),
    ],
    ids=["token", "voice", "speed"],
)
def test_what_is_said_how_and_how_fast_changes_everything(
    loaded: Checkpoint, reference: Reference, plain: ReferenceTrace, change: Callable[[list[int]], ModelInput]
) -> None:
    other = reference.speak(change(ids_of(loaded)))
    assert not np.array_equal(other.frames, plain.frames)
    common = min(other.f0.size, plain.f0.size)
    assert relative_rms(other.f0[:, :common], plain.f0[:, :common]) > 0.1
    common *= SAMPLES_PER_FRAME // 2
    assert relative_rms(other.audio[:, :common], plain.audio[:, :common]) > 0.3


def test_one_token_reaches_the_durations_of_all_others(
    loaded: Checkpoint, reference: Reference, plain: ReferenceTrace
) -> None:
    other = reference.text(request(_another_token(ids_of(loaded)), HEART))
    assert np.abs(other.durations - plain.durations).min() > 1e-4
    assert np.abs(other.durations - plain.durations).max() > 0.3


def test_the_longest_input_at_a_quarter_of_the_speed_exceeds_the_largest_frame_bucket(
    loaded: Checkpoint, reference: Reference
) -> None:
    durations = reference.text(request(random_ids(loaded, 510), HEART)).durations
    assert 1000 < np.maximum(np.rint(durations), 1).sum() < 2500
    assert np.rint(durations * 4).sum() > 5120


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3, 10, 42, 60, 103, 217])
def test_every_voice_is_calibrated_at_every_length(loaded: Checkpoint, live: Reference, count: int) -> None:
    said = [
        prosody(live, random_ids(loaded, count, seed), voice)
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
def test_every_voice_is_as_loud_as_speech(loaded: Checkpoint, live: Reference) -> None:
    for number, (name, voice) in enumerate(_all_voices().items()):
        ids = random_ids(loaded, 12, number)
        first, second = (live.speak(request(ids, voice, seed=seed)).audio for seed in (0, 1))
        assert 0.05 < np.sqrt(np.mean(first**2)) < 0.07, name
        assert np.abs(first).max() < 1, name
        assert 0.08 < relative_rms(second, first) < 0.11, name


def _all_voices() -> dict[str, np.ndarray]:
    """The real voices where they are at hand, or their synthetic twins."""
    return load_voices(str(REAL_VOICES) if REAL_VOICES.is_dir() else "synthetic")


GOLDEN_UNIFORM = (-0.04471230506896973, -0.12298166751861572, 0.035475730895996094, 0.08336591720581055)
GOLDEN_DIGEST = "b45b8bb15203c3be9f077d83b4c86ecf018e8d043f291a4a6b03c18a2cf84bd4"
