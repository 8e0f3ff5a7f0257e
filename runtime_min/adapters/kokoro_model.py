"""A bundle in place of kokoro's model; importing this module imports kokoro and torch."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import torch
from kokoro import KModel, KPipeline
from misaki.token import MToken

from ..bundle import Bundle
from ..text.bundled import english_files
from ..text.installed_g2p import language_code
from .spoken_tokens import speak_tokens

_REPOSITORY = "hexgrad/Kokoro-82M"
_log = logging.getLogger(__name__)


class KokoroModel(KModel):  # type: ignore[misc]
    """A `kokoro.KModel` that computes with a bundle instead of PyTorch, on the CPU.

    It is a subclass because `KPipeline` loads its own model in place of anything else. kokoro's code turns
    phonemes into tokens as ever; unknown ones are left out, but with a warning.
    """

    def __init__(self, bundle: Bundle, seed: int = 0) -> None:
        """Takes the bundle that speaks and the seed of its noise."""
        # KModel's own constructor loads weights. Without any, `to`, `eval` and `half` change nothing.
        torch.nn.Module.__init__(self)
        self.bundle = bundle
        self.seed = seed
        self.repo_id = _REPOSITORY
        self.vocab = dict(bundle.manifest.vocabulary)
        self.context_length = bundle.max_phonemes + 2

    @property
    def device(self) -> torch.device:
        """The device that `KPipeline` moves a voice to."""
        return torch.device("cpu")

    def voices(self) -> dict[str, torch.Tensor]:
        """Returns the bundle's voices, float32 ``[510, 1, 256]``, for `KPipeline.voices`.

        A pipeline that has them by name finds them, and blends such as ``"af_heart,af_bella"``, without a
        download.
        """
        tables = self.bundle.voice_tables
        return {name: torch.from_numpy(table[:, None].copy()) for name, table in tables.items()}

    def forward(
        self, phonemes: str, ref_s: torch.Tensor, speed: float = 1, return_output: bool = False
    ) -> KModel.Output | torch.Tensor:
        """Synthesises phonemes as `KModel.forward` does."""
        if unknown := sorted(set(phonemes) - set(self.vocab)):
            _log.warning("left out what the vocabulary lacks: %s", " ".join(map(repr, unknown)))
        return super().forward(phonemes, ref_s, speed, return_output)

    def forward_with_tokens(
        self, input_ids: torch.Tensor, ref_s: torch.Tensor, speed: float = 1
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Synthesises tokens.

        Args:
            input_ids: int64 ``[1, tokens]`` with a 0 at both ends.
            ref_s: a row of a voice, ``[1, 256]``.
            speed: from 0.25 to 4; others are limited.

        Returns:
            Samples, float32 ``[600 * frames]``, and the frames of each token, int64 ``[tokens]``.

        Raises:
            InputError: the request cannot be synthesised.
        """
        style = ref_s.detach().cpu().float().numpy()
        samples, durations = speak_tokens(
            self.bundle, input_ids.cpu().numpy(), style, float(speed), self.seed
        )
        return torch.from_numpy(samples), torch.from_numpy(durations)


class EnglishG2P:
    """The bundle's English in place of misaki's `en.G2P`, which loads a model of spaCy's, or fetches it."""

    def __init__(self, bundle: Bundle, language: str) -> None:
        """Takes the bundle and the dialect."""
        self._bundle = bundle
        self._language = language
        self.lexicon = SimpleNamespace(golds={})
        """Programs add their own words to `golds`."""

    def __call__(self, text: str) -> tuple[str, list[MToken]]:
        """Returns the phonemes of a text, and its words as misaki's tokens, without tags."""
        _, g2p = self._bundle.find_g2p(self._language, lexicon=self.lexicon.golds)
        words: Any = g2p(text.strip())
        if unspoken := [word.text for word in words if word.phonemes is None]:
            _log.warning("left out what cannot be spoken: %s", " ".join(unspoken))
        tokens = [
            MToken(word.text, "", " " if word.whitespace else "", word.phonemes or "") for word in words
        ]
        return "".join(token.phonemes + token.whitespace for token in tokens), tokens


def kokoro_classes(bundle: Bundle, seed: int = 0) -> tuple[type[KModel], type[KPipeline]]:
    """Returns `KModel` and `KPipeline` for a program that makes them itself, in place of kokoro's two.

        KModel, KPipeline = kokoro_classes(bundle)  # instead of: from kokoro import KModel, KPipeline

    Their models compute with `bundle`, and their pipelines know its voices and speak its English.
    """
    shared = KokoroModel(bundle, seed)
    voices = shared.voices()

    class BundleModel(KokoroModel):
        def __init__(self, repo_id: str | None = None) -> None:
            super().__init__(bundle, seed)

    class BundlePipeline(KPipeline):  # type: ignore[misc]
        def __init__(
            self, lang_code: str, repo_id: str | None = None, model: KModel | bool = True, **options: Any
        ) -> None:
            repo_id, model = repo_id or _REPOSITORY, shared if model is True else model
            code = language_code(lang_code)
            if code in english_files(bundle.manifest):
                # In place of kokoro's constructor, which makes misaki's G2P.
                self.repo_id, self.lang_code = repo_id, "b" if code == "en-gb" else "a"
                self.model = model if isinstance(model, KModel) else None
                self.voices: dict[str, torch.Tensor] = {}
                self.g2p = EnglishG2P(bundle, code)
            else:
                super().__init__(lang_code, repo_id, model, **options)
            self.voices |= voices

    return BundleModel, BundlePipeline
