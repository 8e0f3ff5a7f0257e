"""Phonemes of a text, without a fetch from the network and without anything left out."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from exporter.reference.phonemes import TextError, phonemes_of_text


def test_a_voice_that_tells_no_language_is_refused() -> None:
    with pytest.raises(TextError, match=r"'xx_one'.*begins with.*af_heart.*--phonemes"):
        phonemes_of_text("hello", "xx_one")


@pytest.mark.parametrize("voice", ["af_heart", "bf_emma"])
def test_a_model_that_is_not_installed_is_named_and_not_fetched(
    monkeypatch: pytest.MonkeyPatch, voice: str
) -> None:
    import spacy

    def fetch(name: str) -> None:
        raise AssertionError(f"{name} would be fetched")

    monkeypatch.setattr(spacy.util, "is_package", lambda name: False)
    monkeypatch.setattr(spacy.cli, "download", fetch)
    with pytest.raises(TextError, match=r"en_core_web_sm.*--phonemes"):
        phonemes_of_text("hello", voice)


@pytest.mark.parametrize(("voice", "package"), [("jf_alpha", "pyopenjtalk"), ("zf_xiaobei", "jieba")])
def test_a_package_that_is_not_installed_is_named(
    monkeypatch: pytest.MonkeyPatch, voice: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    for module in ("misaki.zh", "misaki.ja"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(TextError, match=rf"misaki\[{voice[0]}.\].*--phonemes"):
        phonemes_of_text("hello", voice)


def test_a_dictionary_that_is_not_there_is_named_and_not_fetched(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module = SimpleNamespace(OPEN_JTALK_DICT_DIR=str(tmp_path / "dictionary").encode())
    monkeypatch.setitem(sys.modules, "pyopenjtalk", module)
    with pytest.raises(TextError, match=r"dictionary does not exist.*--phonemes"):
        phonemes_of_text("hello", "jf_alpha")


def pipeline(monkeypatch: pytest.MonkeyPatch, parts: list[str], fallback: object = True) -> None:
    """Puts a pipeline in the place of kokoro's that gives these parts."""
    import kokoro.pipeline
    import spacy

    class Pipeline:
        def __init__(self, language: str, repo_id: str, model: bool) -> None:
            assert model is False
            self.g2p = SimpleNamespace(fallback=fallback)

        def __call__(self, text: str) -> list[SimpleNamespace]:
            return [SimpleNamespace(phonemes=part) for part in parts]

    monkeypatch.setattr(spacy.util, "is_package", lambda name: True)
    monkeypatch.setattr(kokoro.pipeline, "KPipeline", Pipeline)


def test_every_part_of_a_long_text_is_spoken(monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline(monkeypatch, ["wˈʌn", "", "tˈu"])
    assert phonemes_of_text("one\n\ntwo", "af_heart") == ("wˈʌn", "tˈu")


@pytest.mark.parametrize(
    ("parts", "fallback", "message"),
    [
        ([], True, "has no phonemes"),
        (["a" * 510], True, "510 phonemes or more"),
        (["a"], None, "words that no dictionary has would be left out"),
    ],
)
def test_nothing_is_left_out_or_cut_off(
    monkeypatch: pytest.MonkeyPatch, parts: list[str], fallback: object, message: str
) -> None:
    pipeline(monkeypatch, parts, fallback)
    with pytest.raises(TextError, match=message):
        phonemes_of_text("hello", "af_heart")
