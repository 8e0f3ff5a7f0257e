"""Apps that were written for kokoro and kokoro-onnx speak through a bundle, with the real packages."""

from __future__ import annotations

import asyncio
import logging
import runpy
import socket
import sys
import wave
from pathlib import Path
from typing import Any

import kokoro
import kokoro_onnx
import numpy as np
import pytest
import torch
from kokoro import KModel, KPipeline
from kokoro.model import KModelForONNX
from misaki.en import MToken

from runtime_min import Bundle
from runtime_min.adapters import KokoroModel, OnnxSession, kokoro_classes, save_voices
from runtime_min.errors import TensorInputError
from tests.e2e.conftest import run_python
from tests.support.emulation.library_files import unpacked_wheel
from tests.support.utterances import HELLO, phonemes_of

pytestmark = pytest.mark.e2e

GREETINGS = {
    "e": "¡Hola! ¿Qué tal?",
    "f": "Bonjour, tout va bien.",
    "h": "नमस्ते दुनिया।",
    "i": "Ciao, come stai?",
    "p": "Olá, tudo bem?",
}
SPOKEN = "həlˈO, wˈɜɹld!"
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


@pytest.fixture
def no_spacy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of spaCy's may be loaded or fetched."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("spaCy was asked for")

    for name in ("spacy.load", "spacy.blank", "spacy.cli.download", "spacy.util.is_package"):
        monkeypatch.setattr(name, refuse)


@pytest.mark.parametrize("language", GREETINGS)
def test_kokoros_pipeline_speaks_every_language_of_espeak(
    bundle: Bundle, model: KokoroModel, language: str
) -> None:
    pipeline = KPipeline(lang_code=language, repo_id="hexgrad/Kokoro-82M", model=model)
    assert pipeline.model is model
    pack = torch.from_numpy(bundle.voice_tables["af_heart"][:, None].copy())
    results = list(pipeline(GREETINGS[language], pack))
    assert [result.graphemes for result in results] == [GREETINGS[language]]
    for result in results:
        spoken = "".join(phoneme for phoneme in result.phonemes if phoneme in model.vocab)
        row = bundle.voice_tables["af_heart"][len(result.phonemes) - 1]
        expected = bundle.synthesize(phonemes=spoken, voice=row, stretch=False)
        assert isinstance(result.audio, torch.FloatTensor)
        assert result.audio.numpy().tobytes() == expected.samples.tobytes()
        assert result.pred_dur.tolist() == expected.durations.tolist()


def test_a_model_has_what_apps_use_of_kokoros(bundle: Bundle, model: KokoroModel) -> None:
    assert isinstance(model, KModel)
    assert model.to("cpu").eval().half() is model
    assert (model.device, model.repo_id) == (torch.device("cpu"), "hexgrad/Kokoro-82M")
    assert model.context_length == bundle.max_phonemes + 2
    row = torch.from_numpy(bundle.voice_tables["af_heart"][12:13].copy())
    tokens = torch.LongTensor([[0, *map(model.vocab.get, HELLO), 0]])
    expected = bundle.synthesize(phonemes=HELLO, voice=row.numpy(), speed=1.5, stretch=False)
    for forward in (model.forward_with_tokens, KModelForONNX(model)):
        samples, durations = forward(tokens, row, torch.FloatTensor([1.5]))
        assert samples.numpy().tobytes() == expected.samples.tobytes()
        assert durations.tolist() == expected.durations.tolist()
    with pytest.raises(TensorInputError, match="at both ends"):
        model.forward_with_tokens(tokens[:, 1:], row)


def test_voices_and_their_averages_are_found_by_name(bundle: Bundle, model: KokoroModel) -> None:
    pipeline = KPipeline(lang_code="e", repo_id="hexgrad/Kokoro-82M", model=model)
    pipeline.voices |= model.voices()
    (named,) = pipeline("Hola.", voice="ef_dora", speed=lambda phonemes: phonemes / 4)
    speed = len(named.phonemes) / 4
    assert (
        named.audio.numpy().tobytes()
        == bundle.synthesize(
            phonemes=named.phonemes, voice="ef_dora", speed=speed, stretch=False
        ).samples.tobytes()
    )
    (mean,) = pipeline("Hola.", voice="ef_dora,em_alex")
    row = pipeline.load_voice("ef_dora,em_alex")[len(mean.phonemes) - 1]
    assert (
        mean.audio.numpy().tobytes()
        == bundle.synthesize(phonemes=mean.phonemes, voice=row.numpy(), stretch=False).samples.tobytes()
    )


@pytest.mark.parametrize("text", ["¿", "¿\n¿¡", "", " \n "])
def test_text_without_known_phonemes_ends_no_program(model: KokoroModel, text: str) -> None:
    pipeline = KPipeline(lang_code="e", repo_id="hexgrad/Kokoro-82M", model=model)
    pipeline.voices |= model.voices()
    results = list(pipeline(text, "ef_dora"))
    assert len(results) == len(text.split())
    assert all(len(result.audio) and not result.audio.any() for result in results)
    for phonemes in ("", "❓"):
        (result,) = pipeline.generate_from_tokens(phonemes, "ef_dora")
        assert result.pred_dur.tolist() == [1, 1]


@pytest.mark.parametrize(("speed", "limited"), [(9.0, 4.0), (0.1, 0.25)])
def test_a_speed_out_of_range_is_limited_as_kokoro_has_no_limits(
    bundle: Bundle, model: KokoroModel, caplog: pytest.LogCaptureFixture, speed: float, limited: float
) -> None:
    row = torch.from_numpy(bundle.voice_tables["af_heart"][:1].copy())
    with caplog.at_level(logging.WARNING, "runtime_min"):
        samples = model("ə", row, speed)
    assert f"speed {limited:g} instead of {speed:g}" in caplog.text
    assert (
        samples.numpy().tobytes()
        == bundle.synthesize(phonemes="ə", voice=row.numpy(), speed=limited, stretch=False).samples.tobytes()
    )


def test_english_tokens_get_kokoros_timestamps(bundle: Bundle, model: KokoroModel) -> None:
    """The same as the bundle's own words."""
    pipeline = KPipeline(lang_code="e", repo_id="hexgrad/Kokoro-82M", model=False)
    pipeline.voices |= model.voices()
    tokens = [MToken(text, tag="", whitespace=space, phonemes=phonemes) for text, phonemes, space in TOKENS]
    (result,) = pipeline.generate_from_tokens(tokens, "af_heart", model=model)
    words = bundle.synthesize(phonemes=tokens, stretch=False).words
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


# Programs of kokoro's, in which only the import of the two classes is changed.


def test_kokoros_own_command_speaks(bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """kokoro 0.9.4, ``kokoro/__main__.py``."""
    monkeypatch.setattr(kokoro, "KPipeline", kokoro_classes(bundle)[1])
    output = tmp_path / "speech.wav"
    monkeypatch.setattr(sys, "argv", ["kokoro", "-m", "ef_dora", "-t", "Hola.\nAdiós.", "-o", str(output)])
    runpy.run_module("kokoro", run_name="__main__")
    parts = [
        bundle.synthesize(phonemes=phonemes, voice="ef_dora", stretch=False).samples
        for phonemes in ("ˈola.", "aðjˈos.")
    ]
    expected = (np.concatenate(parts) * 32767).astype(np.int16).tobytes()
    with wave.open(str(output)) as file:
        assert file.readframes(file.getnframes()) == expected


def test_the_way_of_hexgrads_demo(bundle: Bundle, no_spacy: None) -> None:
    """hexgrad/kokoro, ``demo/app.py``: without gradio, with the same calls."""
    KModel, KPipeline = kokoro_classes(bundle)
    models = {gpu: KModel().to("cuda" if gpu else "cpu").eval() for gpu in [False]}
    pipelines = {lang_code: KPipeline(lang_code=lang_code, model=False) for lang_code in "ab"}
    pipelines["a"].g2p.lexicon.golds["kokoro"] = "kˈOkəɹO"
    pipelines["b"].g2p.lexicon.golds["kokoro"] = "kˈQkəɹQ"
    assert [pipelines[code].g2p("Kokoro")[0] for code in "ab"] == ["kˈOkəɹO", "kˈQkəɹQ"]
    for voice in bundle.voices:
        if voice[0] in pipelines:
            pipelines[voice[0]].load_voice(voice)
    pipeline = pipelines["a"]
    pack = pipeline.load_voice("af_heart")
    for _, ps, audio in pipeline("Hello, world!", "af_heart", 1.2):
        assert audio is None
        audio = models[False](ps, pack[len(ps) - 1], 1.2)
        assert (
            audio.numpy().tobytes()
            == bundle.synthesize(
                phonemes=SPOKEN, voice="af_heart", speed=1.2, stretch=False
            ).samples.tobytes()
        )


def test_the_usage_in_kokoros_readme(bundle: Bundle, no_spacy: None) -> None:
    """hexgrad/kokoro, ``README.md``, and the shared model of ``examples/device_examples.py``."""
    _, KPipeline = kokoro_classes(bundle)
    first = KPipeline(lang_code="a", device="cpu")
    shared = KPipeline(lang_code="b", model=first.model)
    assert shared.model is first.model
    for pipeline in (first, shared):
        ((text, phonemes, audio),) = pipeline(
            "Hello, world!", voice="af_heart", speed=1, split_pattern=r"\n+"
        )
        spoken = SPOKEN if pipeline is first else "həlˈQ, wˈɜːld!"
        assert (text, phonemes) == ("Hello, world!", spoken)
        assert audio.numpy().tobytes() == bundle.synthesize(phonemes=spoken, stretch=False).samples.tobytes()


def test_kokoros_pipeline_speaks_english_without_spacys_model(
    bundle: Bundle, no_spacy: None, caplog: pytest.LogCaptureFixture
) -> None:
    pipeline = kokoro_classes(bundle)[1](lang_code="en-us")
    assert (pipeline.lang_code, pipeline.repo_id) == ("a", "hexgrad/Kokoro-82M")
    text = " On 3 May 2025 [Kokoro](/kˈOkəɹO/) 세 read $4.50.\nIt isn’t “late”. "
    with caplog.at_level(logging.WARNING, "runtime_min"):
        results = list(pipeline(text, "af_heart", 2.0))
    assert "세" in caplog.text and len(results) == 2
    expected = bundle.synthesize("It isn’t “late”.", speed=2.0, stretch=False)
    assert results[1].audio.numpy().tobytes() == expected.samples.tobytes()
    spoken = [token for token in results[1].tokens if token.phonemes]
    assert [token.text for token in spoken] == [word.text for word in expected.words]
    for token, word in zip(spoken, expected.words, strict=True):
        assert (token.start_ts, token.end_ts) == pytest.approx((word.start, word.end), abs=1e-9)
    silent = kokoro_classes(bundle)[1](lang_code="en-us", model=False)
    assert len(list(silent("The cat sat. " * 200))) > 3


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


def test_releases_that_cut_the_speed_to_an_integer_are_not_led_to(bundle: Bundle) -> None:
    """kokoro-onnx 0.4.5 to 0.5.0 do, in ``Kokoro._create_audio``, where an input is named input_ids."""
    session = OnnxSession(bundle)
    assert [node.name for node in session.get_inputs()] == ["tokens", "style", "speed"]
    inner = list(map(bundle.manifest.vocabulary.get, HELLO))
    row = bundle.voice_tables["af_heart"][[len(HELLO)]]
    inputs = {"tokens": [[0, *inner, 0]], "style": row, "speed": np.ones(1, dtype=np.float32) * 1.3}
    expected = bundle.synthesize(
        phonemes=HELLO, voice=row, speed=float(np.float32(1.3)), stretch=False
    ).samples.tobytes()
    assert session.run(None, inputs)[0].tobytes() == expected
    # An app's own code may use the other name.
    inputs["input_ids"] = inputs.pop("tokens")
    assert session.run(None, inputs)[0].tobytes() == expected


RELEASE = """
import sys
from inspect import signature
sys.path.insert(0, sys.argv[1])
import kokoro_onnx
from runtime_min import Bundle
from runtime_min.adapters import OnnxSession, kokoro_onnx_class, save_voices
assert kokoro_onnx.__file__.startswith(sys.argv[1])
bundle = Bundle.load(sys.argv[2])
save_voices(bundle, sys.argv[3])
kokoro = kokoro_onnx.Kokoro.from_session(OnnxSession(bundle), sys.argv[3])
phonemes = "həlˈO, wˈɜɹld!"
english = kokoro_onnx_class(bundle)("kokoro-v1.0.onnx", sys.argv[3])
assert english.tokenizer.phonemize("Hello, world!") == phonemes
for speech, speed in ((kokoro, 0.8), (kokoro, 1.3), (english, 2.0)):
    # 0.6.1 lengthens the pauses at marks, where the model makes them too short.
    pauses = {name: 0.0 for name in signature(speech.create).parameters if name.endswith("_pause")}
    samples, rate = speech.create(phonemes, "af_heart", speed, is_phonemes=True, trim=False, **pauses)
    # Before 0.6 the row of a voice was one too high.
    rows = bundle.voice_tables["af_heart"][len(phonemes) - 1 :][:2]
    said = [bundle.synthesize(phonemes=phonemes, voice=row, speed=speed, stretch=False) for row in rows]
    assert any(samples.tobytes() == each.samples.tobytes() for each in said), speed
"""


@pytest.mark.slow
@pytest.mark.parametrize("release", ["0.5.0", "0.6.0", "0.6.1"])
def test_releases_of_kokoro_onnx_speak_at_the_speed_asked_for(
    directory: Path, tmp_path: Path, release: str
) -> None:
    place = unpacked_wheel(f"kokoro-onnx=={release}", tmp_path / "wheel")
    done = run_python("-c", RELEASE, place, directory, tmp_path / "voices-v1.0.bin")
    assert done.returncode == 0, done.stderr


def test_kokoro_onnx_says_what_the_bundle_says(bundle: Bundle, speech: kokoro_onnx.Kokoro) -> None:
    samples, rate = speech.create(HELLO, "af_heart", 1.3, is_phonemes=True, trim=False)
    assert rate == 24_000
    assert (
        samples.tobytes()
        == bundle.synthesize(phonemes=HELLO, voice="af_heart", speed=1.3, stretch=False).samples.tobytes()
    )
    samples, _ = speech.create("¡Hola! Buenos días.", "ef_dora", lang="es")
    assert np.isfinite(samples).all() and len(samples) > rate / 4


WITHOUT_ESPEAK = """
import sys
sys.modules["phonemizer"] = sys.modules["espeakng_loader"] = None
from runtime_min import Bundle
from runtime_min.adapters import kokoro_onnx_class, save_voices
from runtime_min.errors import G2PMissingError
bundle = Bundle.load(sys.argv[1])
Kokoro = kokoro_onnx_class(bundle)
save_voices(bundle, sys.argv[2])
kokoro = Kokoro("kokoro-v1.0.onnx", sys.argv[2])
text = "On 3 May 2025 she read $4.50."
samples, rate = kokoro.create(text, "af_heart", 2.0, trim=False)
assert (samples == bundle.synthesize(text, speed=2.0, stretch=False).samples).all()
assert kokoro.tokenizer.phonemize("I’ll go to the refuse.", "en-gb") == "ˌIl ɡˌQ tə ðə ɹˈɛfjuːs."
assert kokoro.tokenizer.phonemize("¡Hola!", "es") == "ˈola!"
try:
    kokoro.create("Guten Tag.", "af_heart", lang="de")
except G2PMissingError:
    print("German needs espeak-ng")
assert "kokoro_onnx" not in sys.modules
"""


def test_kokoro_onnx_speaks_english_without_espeak(directory: Path, tmp_path: Path) -> None:
    done = run_python("-c", WITHOUT_ESPEAK, directory, tmp_path / "voices.npz")
    assert done.stdout == "German needs espeak-ng\n", done.stderr


def test_kokoro_onnx_times_every_phoneme(bundle: Bundle, speech: kokoro_onnx.Kokoro) -> None:
    samples, rate, timings = speech.create_timed(HELLO, "af_heart", is_phonemes=True, trim=False)
    assert "".join(timing.phoneme for timing in timings) == HELLO
    durations = bundle.synthesize(phonemes=HELLO, stretch=False).durations
    ends = np.cumsum(durations)[1:-1] / 40
    np.testing.assert_allclose([timing.end for timing in timings], ends, atol=1e-4)
    assert len(samples) / rate == durations.sum() / 40


LONG = phonemes_of(520)


def without_spaces(timings: list[Any]) -> str:
    """Where kokoro-onnx cuts, it gives a space up."""
    return "".join(timing.phoneme for timing in timings).replace(" ", "")


def test_kokoro_onnx_speaks_long_text_and_streams_the_same(
    speech: kokoro_onnx.Kokoro, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two pieces of a short text; below is a text of more than its own limit.
    monkeypatch.setattr(kokoro_onnx, "MAX_PHONEME_LENGTH", 30)
    text = phonemes_of(50)
    whole, rate, timings = speech.create_timed(text, "af_heart", 2.0, is_phonemes=True)
    assert without_spaces(timings) == text.replace(" ", "")
    assert timings[0].start >= 0 and timings[-1].end <= len(whole) / rate + 1e-3

    async def pieces() -> list[np.ndarray]:
        stream = speech.create_stream(text, "af_heart", 2.0, is_phonemes=True)
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
    for tokens in ([[0, 9999, 0]], [[5, 5, 5]], [[0]], [[]]):
        with pytest.raises(TensorInputError, match="at both ends"):
            session.run(None, {"tokens": np.array(tokens, np.int64), "style": style, "speed": speed})
    inputs = {"tokens": np.array([[0, 43, 0]]), "style": style, "speed": speed}
    huge = 1 << 70
    for wrong in (
        {"style": "af_heart"},
        {"speed": []},
        {"tokens": [[0], [43, 0]]},
        {"tokens": [[0, huge, 0]]},
    ):
        with pytest.raises(TensorInputError, match="as numbers"):
            session.run(None, inputs | wrong)
    with pytest.raises(TensorInputError, match="'style'"):
        session.run(None, {name: inputs[name] for name in ("tokens", "speed")})
    with pytest.raises(TensorInputError, match="as numbers"):
        session.run(None, {name: inputs[name] for name in ("style", "speed")})
    with pytest.raises(TensorInputError, match="'audio'"):
        session.run(["audio"], inputs)
    (duration,) = session.run(["duration"], inputs)
    assert duration.shape == (3,)


def test_nothing_is_imported_with_the_adapters() -> None:
    script = "import runtime_min.adapters, sys; print({'torch', 'kokoro', 'kokoro_onnx'} & set(sys.modules))"
    done = run_python("-c", script)
    assert done.stdout.strip() == "set()", done.stderr
