"""Apps that were written for kokoro and kokoro-onnx speak through a bundle, with the real packages."""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import Any

import kokoro_onnx
import numpy as np
import pytest
import torch
from kokoro import KPipeline
from misaki.en import MToken

from runtime_min import Bundle
from runtime_min.adapters import KokoroModel, OnnxSession, save_voices
from runtime_min.errors import TensorInputError
from tests.e2e.conftest import run_python
from tests.support.utterances import HELLO, phonemes_of

pytestmark = pytest.mark.e2e

GREETINGS = {
    "e": "¡Hola! ¿Qué tal?",
    "f": "Bonjour, tout va bien.",
    "h": "नमस्ते दुनिया।",
    "i": "Ciao, come stai?",
    "p": "Olá, tudo bem?",
}
TOKENS = [("Hello", "həlˈO", ""), (",", ",", " "), ("world", "wˈɜɹld", ""), ("!", "!", "")]


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here may fetch a voice or a model."""

    def refuse(*_: Any) -> None:
        raise AssertionError("a connection was asked for")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture(scope="module")
def model(bundle: Bundle) -> KokoroModel:
    return KokoroModel(bundle)


# kokoro


@pytest.mark.parametrize("language", GREETINGS)
def test_kokoros_pipeline_speaks_every_language_of_espeak(
    bundle: Bundle, model: KokoroModel, language: str
) -> None:
    pipeline = KPipeline(lang_code=language, repo_id="hexgrad/Kokoro-82M", model=False)
    pack = torch.from_numpy(bundle.voice_tables["af_heart"][:, None].copy())
    results = list(pipeline(GREETINGS[language], pack, model=model))
    assert [result.graphemes for result in results] == [GREETINGS[language]]
    for result in results:
        spoken = "".join(phoneme for phoneme in result.phonemes if phoneme in model.vocab)
        row = bundle.voice_tables["af_heart"][len(result.phonemes) - 1]
        expected = bundle.synthesize(spoken, row)
        assert isinstance(result.audio, torch.FloatTensor)
        assert result.audio.numpy().tobytes() == expected.samples.tobytes()
        assert result.pred_dur.tolist() == expected.durations.tolist()


def test_voices_and_their_averages_are_found_by_name(bundle: Bundle, model: KokoroModel) -> None:
    pipeline = KPipeline(lang_code="e", repo_id="hexgrad/Kokoro-82M", model=False)
    pipeline.voices |= model.voices()
    (named,) = pipeline("Hola.", voice="ef_dora", speed=1.5, model=model)
    assert (
        named.audio.numpy().tobytes() == bundle.synthesize(named.phonemes, "ef_dora", 1.5).samples.tobytes()
    )
    (mean,) = pipeline("Hola.", voice="ef_dora,em_alex", model=model)
    row = pipeline.load_voice("ef_dora,em_alex")[len(mean.phonemes) - 1]
    assert mean.audio.numpy().tobytes() == bundle.synthesize(mean.phonemes, row.numpy()).samples.tobytes()


def test_english_tokens_get_kokoros_timestamps(bundle: Bundle, model: KokoroModel) -> None:
    """The same as the bundle's own words."""
    pipeline = KPipeline(lang_code="e", repo_id="hexgrad/Kokoro-82M", model=False)
    pipeline.voices |= model.voices()
    tokens = [MToken(text, tag="", whitespace=space, phonemes=phonemes) for text, phonemes, space in TOKENS]
    (result,) = pipeline.generate_from_tokens(tokens, "af_heart", model=model)
    words = bundle.synthesize(tokens).words
    assert [token.text for token in result.tokens] == [word.text for word in words]
    for token, word in zip(result.tokens, words, strict=True):
        assert (token.start_ts, token.end_ts) == pytest.approx((word.start, word.end), abs=1e-9)


def test_unknown_phonemes_are_left_out_as_by_kokoro_but_not_in_silence(
    bundle: Bundle, model: KokoroModel, caplog: pytest.LogCaptureFixture
) -> None:
    row = torch.from_numpy(bundle.voice_tables["af_heart"][12:13].copy())
    with caplog.at_level(logging.WARNING, "runtime_min"):
        found = model("¿" + HELLO, row)
    assert "'¿'" in caplog.text
    assert found.numpy().tobytes() == model(HELLO, row).numpy().tobytes()


# kokoro-onnx


@pytest.fixture(scope="module")
def speech(bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> kokoro_onnx.Kokoro:
    path = tmp_path_factory.mktemp("voices") / "voices.npz"
    save_voices(bundle, path)
    return kokoro_onnx.Kokoro.from_session(OnnxSession(bundle), str(path))


def test_kokoro_onnx_has_the_bundles_voices_and_vocabulary(
    bundle: Bundle, speech: kokoro_onnx.Kokoro
) -> None:
    assert speech.get_voices() == sorted(bundle.voices)
    assert speech.tokenizer.vocab == dict(bundle.manifest.vocabulary)
    assert speech.has_timings


def test_kokoro_onnx_says_what_the_bundle_says(bundle: Bundle, speech: kokoro_onnx.Kokoro) -> None:
    samples, rate = speech.create(HELLO, "af_heart", 1.3, is_phonemes=True, trim=False)
    assert rate == 24_000
    assert samples.tobytes() == bundle.synthesize(HELLO, "af_heart", 1.3).samples.tobytes()
    samples, _ = speech.create("¡Hola! Buenos días.", "ef_dora", lang="es")
    assert np.isfinite(samples).all() and len(samples) > rate / 4


def test_kokoro_onnx_times_every_phoneme(bundle: Bundle, speech: kokoro_onnx.Kokoro) -> None:
    samples, rate, timings = speech.create_timed(HELLO, "af_heart", is_phonemes=True, trim=False)
    assert "".join(timing.phoneme for timing in timings) == HELLO
    durations = bundle.synthesize(HELLO).durations
    ends = np.cumsum(durations)[1:-1] / 40
    np.testing.assert_allclose([timing.end for timing in timings], ends, atol=1e-4)
    assert len(samples) / rate == durations.sum() / 40


LONG = phonemes_of(520)


def without_spaces(timings: list[Any]) -> str:
    """Where kokoro-onnx cuts, it gives a space up."""
    return "".join(timing.phoneme for timing in timings).replace(" ", "")


def test_kokoro_onnx_speaks_long_text_and_streams_the_same(speech: kokoro_onnx.Kokoro) -> None:
    whole, rate, timings = speech.create_timed(LONG, "af_heart", 2.0, is_phonemes=True)
    assert without_spaces(timings) == LONG.replace(" ", "")
    assert timings[0].start >= 0 and timings[-1].end <= len(whole) / rate + 1e-3

    async def pieces() -> list[np.ndarray]:
        stream = speech.create_stream(LONG, "af_heart", 2.0, is_phonemes=True)
        return [samples async for samples, rate in stream if rate == 24_000]

    streamed = asyncio.run(pieces())
    assert len(streamed) == 2
    assert np.concatenate(streamed).tobytes() == whole.tobytes()


def test_kokoro_onnx_speaks_long_text_continuously(speech: kokoro_onnx.Kokoro) -> None:
    _, _, timings = speech.create_timed(LONG, "af_heart", 2.0, is_phonemes=True, continuous=True)
    assert without_spaces(timings) == LONG.replace(" ", "")


def test_a_session_refuses_what_is_no_utterance(bundle: Bundle) -> None:
    session = OnnxSession(bundle)
    style, speed = np.zeros((1, 256), np.float32), np.ones(1, np.float32)
    for tokens in ([[0, 0]], [[0, 9999, 0]], [[5, 5, 5]], [[]]):
        with pytest.raises(TensorInputError, match="at both ends"):
            session.run(None, {"input_ids": np.array(tokens, np.int64), "style": style, "speed": speed})
    inputs = {"input_ids": np.array([[0, 43, 0]]), "style": style, "speed": speed}
    for wrong in ({"style": "af_heart"}, {"speed": []}, {"input_ids": [[0], [43, 0]]}):
        with pytest.raises(TensorInputError, match="as numbers"):
            session.run(None, inputs | wrong)
    with pytest.raises(TensorInputError, match="'style'"):
        session.run(None, {name: inputs[name] for name in ("input_ids", "speed")})
    (duration,) = session.run(["duration"], inputs)
    assert duration.shape == (3,)


def test_nothing_is_imported_with_the_adapters() -> None:
    script = "import runtime_min.adapters, sys; print({'torch', 'kokoro', 'kokoro_onnx'} & set(sys.modules))"
    done = run_python("-c", script)
    assert done.stdout.strip() == "set()", done.stderr
