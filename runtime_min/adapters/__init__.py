"""Adapters that put a bundle in place of kokoro's or kokoro-onnx's model, in apps written for these.

    pipeline = KPipeline("e", model=KokoroModel(bundle))         # kokoro 0.9
    pipeline.voices |= pipeline.model.voices()                   # by name, without a download

    KModel, KPipeline = kokoro_classes(bundle)                   # in place of a program's import of the two

    save_voices(bundle, "voices.npz")                            # kokoro-onnx 0.3 to 0.6
    speech = Kokoro.from_session(OnnxSession(bundle), "voices.npz")

    Kokoro = kokoro_onnx_class(bundle)                           # the same, with text in English as well

kokoro-onnx is only imported by `kokoro_onnx_class`, kokoro and torch with `KokoroModel` and `kokoro_classes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .onnx_session import OnnxSession, save_voices
from .onnx_text import kokoro_onnx_class

if TYPE_CHECKING:
    from .kokoro_model import KokoroModel, kokoro_classes

__all__ = ["KokoroModel", "OnnxSession", "kokoro_classes", "kokoro_onnx_class", "save_voices"]


def __getattr__(name: str) -> Any:
    # A subclass of kokoro's model needs kokoro, which an app with kokoro-onnx does not have.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import kokoro_model

    return getattr(kokoro_model, name)
