"""A bundle speaks as kokoro does: every stage and the whole chain within the limits of `exporter.parity`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from exporter.bundle.statistics import statistics_files
from exporter.compiler.targets import find_target
from exporter.parity.answers import Kokoro
from exporter.reference.process import Reference
from exporter.reference.utterances import PANGRAM, Utterance, make_request
from runtime_min import Bundle
from runtime_min.engine.machine import levels_that_run, this_machine
from runtime_min.model.distances import snr
from runtime_min.model.noise import gaussian_noise
from runtime_min.model.statistics import norm_channels
from tests.e2e.conftest import FRAME_BUCKETS, TEXT_BUCKETS
from tests.support.proof import assert_speaks_as_kokoro
from tests.support.utterances import RECORDED_INPUTS, RECORDED_UTTERANCES, phonemes_of

pytestmark = pytest.mark.e2e

# Frames that the real model gave the 60 tokens of the recorded utterance.
RECORDED_DURATIONS = (
    14, 2, 2, 2, 2, 2, 2, 2, 5, 4, 7, 2, 2, 1, 2, 2, 2, 2, 2, 2, 2, 3, 3, 2, 3, 4, 3, 2, 1, 2,
    1, 2, 2, 1, 1, 2, 1, 2, 3, 3, 2, 2, 2, 2, 2, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 14, 6, 1,
)  # fmt: skip

LEVELS = [level.name for level in levels_that_run(find_target("host").levels, this_machine().features)]

UTTERANCES = [
    (3, "af_heart", 0.5),
    (12, "bf_emma", 1.0),
    pytest.param(44, "am_michael", 2.0, marks=pytest.mark.slow),
    (62, "af_heart", 1.0),
]


@pytest.mark.parametrize(("tokens", "voice", "speed"), UTTERANCES)
def test_an_utterance_is_spoken_as_kokoro_speaks_it(
    bundle: Bundle, kokoro: Kokoro, tokens: int, voice: str, speed: float
) -> None:
    assert_speaks_as_kokoro(bundle, kokoro, Utterance(phonemes_of(tokens), voice, speed, seed=tokens))


@pytest.mark.skipif(not RECORDED_UTTERANCES.exists(), reason="the recordings of the real model are not here")
def test_lengths_are_those_that_others_published_of_the_real_model(bundle: Bundle) -> None:
    recorded = json.loads(RECORDED_UTTERANCES.read_text(encoding="utf-8"))
    published = [entry for entry in recorded if "canonical_duration_s" in entry]
    assert len(published) == 2
    for entry in published:
        audio = bundle.synthesize(phonemes=entry["phonemes"], voice=entry["voice"], speed=entry["speed"])
        # Weights of 8 bits move single durations by a frame, which is 25 ms.
        assert abs(audio.samples.size / audio.sample_rate - entry["canonical_duration_s"]) <= 0.05


# Kernels have the same bits on every level, and each export compares every level that its machine has.
@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
def test_every_level_that_this_machine_has_speaks_as_kokoro_speaks(
    all_levels: Path, kokoro: Kokoro, level: str
) -> None:
    with Bundle.load(all_levels, level=level) as bundle:
        assert bundle.level.name == level
        for tokens, voice, speed in ((3, "af_heart", 0.5), (12, "bf_emma", 1.0), (62, "af_heart", 1.0)):
            said = Utterance(phonemes_of(tokens), voice, speed, seed=tokens)
            assert_speaks_as_kokoro(bundle, kokoro, said)


@pytest.mark.slow
def test_the_best_level_is_chosen_by_itself(all_levels: Path) -> None:
    with Bundle.load(all_levels) as bundle:
        assert bundle.level.name == LEVELS[0]


def spread_over(frames: int, tokens: int) -> NDArray[np.int64]:
    """`frames` frames for `tokens` tokens, unevenly."""
    random = np.random.default_rng([frames, tokens])
    return 1 + random.multinomial(frames - tokens, np.full(tokens, 1 / tokens)).astype(np.int64)


def bucket_of(length: int, buckets: tuple[int, ...]) -> int:
    return min(size for size in buckets if size >= length)


def assert_holds_at(bundle: Bundle, kokoro: Kokoro, tokens: int, frames: int) -> None:
    assert bundle.stage("bert").choose_bucket(tokens) == bucket_of(tokens, TEXT_BUCKETS)
    assert bundle.stage("decoder").choose_bucket(frames) == bucket_of(frames, FRAME_BUCKETS)
    said = Utterance(phonemes_of(tokens), "af_heart", seed=frames)
    comparison = assert_speaks_as_kokoro(bundle, kokoro, said, spread_over(frames, tokens))
    assert (len(said.phonemes) + 2, comparison.frames) == (tokens, frames)


@pytest.mark.parametrize(("tokens", "frames"), [pytest.param(32, 64, marks=pytest.mark.slow), (33, 65)])
def test_at_the_end_of_the_smallest_buckets_and_one_past_it_nothing_is_different(
    bundle: Bundle, kokoro: Kokoro, tokens: int, frames: int
) -> None:
    assert_holds_at(bundle, kokoro, tokens, frames)


def recorded_inputs() -> dict[str, NDArray[np.float32]]:
    """Recorded inputs of the real model's decoder, without the padding behind its 160 frames."""
    recorded = np.load(RECORDED_INPUTS)
    return {
        "asr": recorded["asr"][:, :, :80],
        "f0": recorded["f0"][:, :160],
        "energy": recorded["n"][:, :160],
        "decoder_style": recorded["s"],
    }


def made_up_inputs() -> dict[str, NDArray[np.float32]]:
    """160 frames as the real model would give them: the same durations, ranges and unvoiced parts."""
    random = np.random.default_rng(160)
    time = np.arange(320)
    voiced = time // 23 % 3 < 2
    text = 0.4 * random.standard_normal((1, 512, len(RECORDED_DURATIONS)))
    f0 = np.where(
        voiced, 192 + 80 * np.sin(time / 17) + 3 * random.standard_normal(320), -1.8 * random.random(320)
    )
    energy = np.where(voiced, 6 + 2 * np.sin(time / 11), -7 + 2 * random.standard_normal(320))
    inputs = {
        "asr": np.repeat(text, RECORDED_DURATIONS, axis=2)[:, :, :160],
        "f0": f0[None],
        "energy": energy[None],
        "decoder_style": 0.19 * random.standard_normal((1, 128)),
    }
    return {name: values.astype(np.float32) for name, values in inputs.items()}


MADE_UP = pytest.param(
    made_up_inputs, id="made up", marks=[pytest.mark.slow] if RECORDED_INPUTS.exists() else []
)
RECORDED = [pytest.param(recorded_inputs, id="recorded")] if RECORDED_INPUTS.exists() else []


@pytest.mark.parametrize("inputs", [MADE_UP, *RECORDED])
def test_the_decoder_alone_gives_kokoros_samples(
    bundle: Bundle, reference: Reference, inputs: Callable[[], dict[str, NDArray[np.float32]]]
) -> None:
    given = inputs()
    noise = gaussian_noise(0, 600 * given["asr"].shape[2])
    expected = reference.decode({**given, "noise": noise}).audio
    found = bundle.stage("decoder").run({**given, "noise": noise[None]})["audio"]
    # The limit of an utterance takes in the cost of phases that PyTorch's own STFT turns; here nothing does.
    assert snr(found, expected) >= 55


def test_the_statistics_of_an_utterance_itself_leave_it_as_it_is(
    bundle: Bundle, reference: Reference
) -> None:
    request = make_request(
        Utterance(PANGRAM, "af_heart"), bundle.manifest.vocabulary, bundle.voice_tables["af_heart"]
    )
    found = {norm: each.astype(np.float16) for norm, each in reference.norm_statistics([request]).items()}
    decoder, trace = bundle.stage("decoder"), bundle.trace(PANGRAM)
    (content,) = statistics_files(decoder.stage.parameters, {"voice": found}).files.values()
    channels = norm_channels(bundle.manifest)
    parts = np.split(
        np.frombuffer(content, "<f2").astype(np.float32), 2 * np.cumsum(list(channels.values()))[:-1]
    )
    parameters = {
        name: np.stack([part[: len(part) // 2], part[len(part) // 2 :] ** 2])
        for name, part in zip(channels, parts, strict=True)
    }
    curves = {"asr": trace.asr, "f0": trace.f0, "energy": trace.energy}
    inputs = {**curves, "decoder_style": trace.style.decoder, "noise": trace.noise}
    own = decoder.run(inputs)["audio"]
    np.testing.assert_array_equal(own, trace.audio)
    assert snr(decoder.run(inputs, parameters=parameters)["audio"], own) > 30
    # Those of the neighbouring channel are wrong, so that nothing finite may come out.
    shifted = {name: np.roll(each, 1, axis=1) for name, each in parameters.items()}
    assert not snr(decoder.run(inputs, parameters=shifted)["audio"], own) > 5
