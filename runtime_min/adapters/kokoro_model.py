"""A bundle in place of kokoro's model; importing this module imports kokoro and torch."""

from __future__ import annotations

import logging
from typing import Any

import torch
from kokoro import KModel, KPipeline

from ..bundle import Bundle
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


def kokoro_classes(bundle: Bundle, seed: int = 0) -> tuple[type[KModel], type[KPipeline]]:
    """Returns `KModel` and `KPipeline` for a program that makes them itself, in place of kokoro's two.

        KModel, KPipeline = kokoro_classes(bundle)  # instead of: from kokoro import KModel, KPipeline

    Their models compute with `bundle`, and their pipelines know its voices.
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
            super().__init__(lang_code, repo_id or _REPOSITORY, shared if model is True else model, **options)
            self.voices |= voices

    return BundleModel, BundlePipeline
