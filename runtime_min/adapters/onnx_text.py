"""kokoro-onnx's `Kokoro` with a bundle's front end for text in place of espeak-ng."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from typing import Any

from ..bundle import Bundle
from ..speech.words import G2P, read_input
from .onnx_session import OnnxSession

_log = logging.getLogger(__name__)
_COPY = f"{__name__}.kokoro_onnx"


class Tokenizer:
    """A tokenizer with the methods that kokoro-onnx calls on its own."""

    find_g2p: Callable[[str], tuple[str, G2P]]
    """`Bundle.find_g2p`; set once the tokenizer is made."""

    def __init__(self, espeak_config: object, vocab: Mapping[str, int]) -> None:
        """Takes the token of each phoneme; releases before 0.6 have none."""
        self.vocab = vocab

    def phonemize(self, text: str, lang: str = "en-us", norm: bool = True) -> str:
        """Returns the phonemes of a text."""
        _, g2p = self.find_g2p(lang)
        (passage,) = read_input(text.strip() if norm else text, g2p)
        if passage.unspoken:
            _log.warning("left out what cannot be spoken: %s", passage.unspoken)
        return passage.phonemes

    def tokenize(self, phonemes: str, limit: int | None = None) -> list[int]:
        """Returns the tokens of phonemes that are known."""
        if limit is not None and len(phonemes) > limit:
            raise ValueError(f"Expected at most {limit} phonemes, found {len(phonemes)}: split the text.")
        return [self.vocab[phoneme] for phoneme in self.known(phonemes)]

    def known(self, phonemes: str) -> str:
        """Returns the phonemes that have a token."""
        return "".join(phoneme for phoneme in phonemes if phoneme in self.vocab)


def kokoro_onnx_class(bundle: Bundle, seed: int = 0) -> type[Any]:
    """Returns `Kokoro` for a program that makes it itself, in place of kokoro-onnx's.

        Kokoro = kokoro_onnx_class(bundle)  # instead of: from kokoro_onnx import Kokoro

    It computes with `bundle` whatever model it is given, and speaks text with `Bundle.find_g2p`, so English
    needs neither espeak-ng nor phonemizer.
    """

    class BundleKokoro(_kokoro_onnx().Kokoro):  # type: ignore[misc]
        def __init__(self, model_path: str, voices_path: str, *options: Any, **named: Any) -> None:
            made = self.from_session(OnnxSession(bundle, seed), voices_path, *options, **named)
            self.__dict__.update(vars(made))

        @classmethod
        def from_session(cls, *options: Any, **named: Any) -> BundleKokoro:
            made: BundleKokoro = super().from_session(*options, **named)
            made.tokenizer.find_g2p = bundle.find_g2p
            made.tokenizer.vocab = dict(bundle.manifest.vocabulary)
            return made

    return BundleKokoro


@cache
def _kokoro_onnx() -> Any:
    """Imports a copy of kokoro-onnx with this module as its tokenizer, because its own imports espeak-ng."""
    installed = find_spec("kokoro_onnx")
    if installed is None or installed.origin is None:
        raise ModuleNotFoundError("kokoro-onnx is not installed: pip install kokoro-onnx", name="kokoro_onnx")
    copy = spec_from_file_location(
        _COPY, installed.origin, submodule_search_locations=installed.submodule_search_locations
    )
    assert copy is not None and copy.loader is not None
    package = module_from_spec(copy)
    sys.modules |= {_COPY: package, f"{_COPY}.tokenizer": sys.modules[__name__]}
    copy.loader.exec_module(package)
    return package
