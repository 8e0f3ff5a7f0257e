"""A bundle speaks as kokoro does: every stage and the whole chain within the limits of `exporter.parity`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from exporter.compiler.targets import find_target
from exporter.parity.answers import Kokoro
from exporter.parity.figures import compare
from exporter.reference.process import Reference
from exporter.reference.utterances import Utterance
from runtime_min import Bundle
from runtime_min.engine.machine import this_machine
from runtime_min.model.distances import snr
from runtime_min.model.noise import gaussian_noise
from tests.e2e.conftest import FRAME_BUCKETS, TEXT_BUCKETS, VOICE_SOURCES
from tests.support.proof import assert_all_hold
from tests.support.utterances import RECORDED_INPUTS, phonemes_of, recorded_phonemes

pytestmark = pytest.mark.e2e

VOICES = ("af_heart", "am_michael", "bf_emma", "zm_yunxi")
TOKENS = (3, 12, 44, 62, 105, 219, 512)
SPEEDS = (0.5, 1.0, 2.0)
# Frames that the real model gave the 60 tokens of the recorded utterance.
RECORDED_DURATIONS = (
    14, 2, 2, 2, 2, 2, 2, 2, 5, 4, 7, 2, 2, 1, 2, 2, 2, 2, 2, 2, 2, 3, 3, 2, 3, 4, 3, 2, 1, 2,
    1, 2, 2, 1, 1, 2, 1, 2, 3, 3, 2, 2, 2, 2, 2, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 14, 6, 1,
)  # fmt: skip

MACHINE = this_machine()
LEVELS = [
    level.name for level in find_target("host", MACHINE).levels if MACHINE.features.issuperset(level.features)
]

every_voice_source = pytest.mark.parametrize("source", VOICE_SOURCES)


# Real voices where they are, and otherwise all of these with synthetic ones.
UTTERANCES = [
    ("synthetic", 3, "af_heart", 0.5),
    ("synthetic", 3, "bf_emma", 2.0),
    (VOICE_SOURCES[-1], 12, "zm_yunxi", 0.5),
    ("synthetic", 12, "bf_emma", 1.0),
    (VOICE_SOURCES[-1], 44, "am_michael", 2.0),
    ("synthetic", 62, "af_heart", 1.0),
    (VOICE_SOURCES[-1], 219, "am_michael", 2.0),
]


@pytest.mark.parametrize(("source", "tokens", "voice", "speed"), UTTERANCES)
def test_an_utterance_is_spoken_as_kokoro_speaks_it(
    bundles: dict[str, Bundle], kokoro: Kokoro, source: str, tokens: int, voice: str, speed: float
) -> None:
    said = Utterance(phonemes_of(tokens), voice, speed, seed=tokens)
    assert_all_hold(compare(bundles[source], kokoro, said))


# The synthetic ones of the above, whose answers are known by now.
@pytest.mark.parametrize("level", LEVELS)
def test_every_level_that_this_machine_has_speaks_as_kokoro_speaks(
    all_levels: Path, kokoro: Kokoro, level: str
) -> None:
    with Bundle.load(all_levels, level=level) as bundle:
        assert bundle.level.name == level
        for tokens, voice, speed in ((3, "bf_emma", 2.0), (12, "bf_emma", 1.0), (62, "af_heart", 1.0)):
            said = Utterance(phonemes_of(tokens), voice, speed, seed=tokens)
            assert_all_hold(compare(bundle, kokoro, said))


def test_the_best_level_is_chosen_by_itself(all_levels: Path) -> None:
    with Bundle.load(all_levels) as bundle:
        assert bundle.level.name == LEVELS[0]


@pytest.mark.slow
@pytest.mark.parametrize("speed", SPEEDS)
@pytest.mark.parametrize("tokens", TOKENS)
def test_every_length_at_every_speed_is_spoken_as_kokoro_speaks_it(
    bundles: dict[str, Bundle],
    kokoro: Kokoro,
    tokens: int,
    speed: float,
) -> None:
    # The long ones take minutes: a voice each. Over all lengths and speeds every voice has its turn.
    turn = TOKENS.index(tokens) + SPEEDS.index(speed)
    voices = VOICES if tokens <= 44 else (VOICES[turn % len(VOICES)],)
    for voice in voices:
        said = Utterance(phonemes_of(tokens), voice, speed, seed=turn)
        assert_all_hold(compare(bundles[VOICE_SOURCES[-1]], kokoro, said))


@pytest.mark.slow
@every_voice_source
def test_real_sentences_are_spoken_as_kokoro_speaks_them(
    bundles: dict[str, Bundle], kokoro: Kokoro, source: str
) -> None:
    for phonemes in recorded_phonemes() or [phonemes_of(tokens) for tokens in (14, 44, 66, 105)]:
        assert_all_hold(compare(bundles[source], kokoro, Utterance(phonemes, "af_heart")))


def spread_over(frames: int, tokens: int) -> NDArray[np.int64]:
    """`frames` frames for `tokens` tokens, unevenly."""
    random = np.random.default_rng([frames, tokens])
    return 1 + random.multinomial(frames - tokens, np.full(tokens, 1 / tokens)).astype(np.int64)


def assert_holds_at(bundle: Bundle, kokoro: Kokoro, tokens: int, frames: int) -> None:
    said = Utterance(phonemes_of(tokens), "af_heart", seed=frames)
    comparison = compare(bundle, kokoro, said, spread_over(frames, tokens))
    assert (len(said.phonemes) + 2, comparison.frames) == (tokens, frames)
    assert_all_hold(comparison)


def bucket_of(length: int, buckets: tuple[int, ...]) -> int:
    return min(size for size in buckets if size >= length)


@pytest.mark.parametrize(("tokens", "frames"), [(32, 64), (33, 65)])
def test_at_the_end_of_the_smallest_buckets_and_one_past_it_nothing_is_different(
    bundle: Bundle, kokoro: Kokoro, tokens: int, frames: int
) -> None:
    assert bundle.stage("bert").choose_bucket(tokens) == bucket_of(tokens, TEXT_BUCKETS)
    assert bundle.stage("decoder").choose_bucket(frames) == bucket_of(frames, FRAME_BUCKETS)
    assert_holds_at(bundle, kokoro, tokens, frames)


@pytest.mark.slow
@pytest.mark.parametrize(("tokens", "frames"), [(62, 512), (512, 1024), (512, 5120)])
def test_at_the_end_of_the_larger_buckets_and_one_past_it_nothing_is_different(
    bundle: Bundle, kokoro: Kokoro, tokens: int, frames: int
) -> None:
    assert bundle.stage("decoder").choose_bucket(frames) == bucket_of(frames, FRAME_BUCKETS)
    assert_holds_at(bundle, kokoro, tokens, frames)


def recorded_inputs() -> dict[str, NDArray[np.float32]]:
    """What the real model gave its decoder, without the padding behind its 160 frames."""
    recorded = np.load(RECORDED_INPUTS)
    return {
        "asr": recorded["asr"][:, :, :160],
        "f0": recorded["f0"][:, :320],
        "energy": recorded["n"][:, :320],
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


INPUTS = {"made up": made_up_inputs, **({"recorded": recorded_inputs} if RECORDED_INPUTS.exists() else {})}


@pytest.mark.parametrize("inputs", INPUTS.values(), ids=INPUTS.keys())
def test_the_decoder_alone_gives_kokoros_samples(
    bundle: Bundle, reference: Reference, inputs: object
) -> None:
    assert callable(inputs)
    given = inputs()
    noise = gaussian_noise(0, 600 * given["asr"].shape[2])
    expected = reference.decode({**given, "noise": noise}).audio
    found = bundle.stage("decoder").run({**given, "noise": noise[None]})["audio"]
    assert snr(found, expected) >= 55
