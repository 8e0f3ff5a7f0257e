"""Utterances to compare: the built-in ones, and those that a bundle cannot speak."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.reference import utterances as inputs
from exporter.reference.utterances import BUILT_IN, Utterance, adapted
from runtime_min.errors import (
    EmptyInputError,
    KokoroError,
    MissingStagesError,
    SeedError,
    SpeedError,
    TooManyPhonemesError,
    UnknownPhonemesError,
    UnknownVoiceError,
    UtteranceTooLongError,
)
from runtime_min.format.verify import read_manifest
from tests.support.tiny.bundle import MAX_PHONEMES, tensors, voices


class TestBuiltIn:
    def test_it_covers_short_and_long_slow_and_fast_and_several_voices(self) -> None:
        lengths = [len(said.phonemes) for said in BUILT_IN]
        speeds = [said.speed for said in BUILT_IN]
        assert min(lengths) < 10 and max(lengths) > 100
        assert min(speeds) < 1 < max(speeds)
        assert len({said.voice for said in BUILT_IN}) >= 4
        assert len({said.seed for said in BUILT_IN}) == len(BUILT_IN)

    def test_a_bundle_of_the_official_voices_speaks_it_as_it_stands(self) -> None:
        voices = sorted({said.voice for said in BUILT_IN} | {"af_alloy"})
        vocabulary = {phoneme: 1 for said in BUILT_IN for phoneme in said.phonemes}
        assert tuple(adapted(BUILT_IN, voices, vocabulary)) == BUILT_IN

    @given(
        voices=st.lists(
            st.sampled_from(["af_heart", "bf_emma", "one", "two", "three"]), min_size=1, unique=True
        ),
        phonemes=st.sets(
            st.sampled_from(sorted({phoneme for said in BUILT_IN for phoneme in said.phonemes}))
        ),
    )
    def test_another_bundle_speaks_it_with_what_it_has(self, voices: list[str], phonemes: set[str]) -> None:
        said = list(adapted(BUILT_IN, voices, dict.fromkeys(phonemes, 1)))
        assert all(set(each.phonemes) <= phonemes and each.phonemes for each in said)
        assert all(each.voice in voices for each in said)
        wanted = {each.voice for each in BUILT_IN}
        kept = {each.voice for each in said if each.voice in wanted}
        assert kept <= set(voices)
        if len(said) == len(BUILT_IN):
            # As many voices as the bundle allows.
            assert len({each.voice for each in said}) == min(len(wanted), len(voices))


@pytest.fixture
def bundle(sound: Path) -> Any:
    """A bundle whose stages along tokens are made up: every phoneme lasts as its row of the table says."""
    content = read_manifest(sound)
    lengths = tensors()["lengths"]

    def stage(name: str) -> Any:
        def run(given: dict[str, Any]) -> dict[str, Any]:
            if name == "bert":
                return {"hidden": lengths[given["token_ids"]]}
            return {"durations": given["hidden"]}

        return SimpleNamespace(run=run, buckets=(40, 100))

    return SimpleNamespace(
        manifest=content,
        voice_tables=voices(),
        voices=tuple(voice.name for voice in content.voices),
        max_phonemes=MAX_PHONEMES,
        stage=stage,
    )


class TestCheck:
    def test_the_frames_are_those_of_the_rounded_durations(self, bundle: Any) -> None:
        said = [Utterance("abc", "af_heart"), Utterance("abc", "af_bella", speed=0.5)]
        # 1.5 and 3.5 are halves: rounded to even; the boundaries last 1.5 each.
        assert inputs.check_utterances(bundle, said) == (2 + 1 + 2 + 4 + 2, 3 + 1 + 5 + 7 + 3)

    @pytest.mark.parametrize(
        ("said", "error"),
        [
            (Utterance("", "af_heart"), EmptyInputError),
            (Utterance("a" * (MAX_PHONEMES + 1), "af_heart"), TooManyPhonemesError),
            (Utterance("axb", "af_heart"), UnknownPhonemesError),
            (Utterance("a", "af_hart"), UnknownVoiceError),
            (Utterance("a", "af_heart", speed=9), SpeedError),
            (Utterance("a", "af_heart", seed=-1), SeedError),
            (Utterance("  ", "af_heart"), UtteranceTooLongError),
        ],
    )
    def test_what_the_bundle_cannot_speak_is_the_runtimes_error_with_a_note(
        self, bundle: Any, said: Utterance, error: type[KokoroError]
    ) -> None:
        with pytest.raises(error) as caught:
            inputs.check_utterances(bundle, [Utterance("abc", "af_heart"), said])
        assert caught.value.__notes__ == [f"This was utterance 2: {said.phonemes!r}, {said.voice}."]

    def test_a_partial_bundle_is_refused(self, bundle: Any) -> None:
        bundle.manifest = bundle.manifest._replace(stages=bundle.manifest.stages[:2])
        with pytest.raises(MissingStagesError, match="text_encoder"):
            inputs.check_utterance(bundle, Utterance("a", "af_heart"))

    def test_the_built_in_set_leaves_out_what_is_beyond_the_buckets(self, bundle: Any) -> None:
        said = (
            Utterance("ab", "am_michael"),
            Utterance("a" * (MAX_PHONEMES + 1), "af_heart"),
            Utterance("   ", "af_heart"),
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(inputs, "BUILT_IN", said)
            assert inputs.built_in(bundle) == (Utterance("ab", "af_bella"),)

    def test_a_voice_that_is_not_named_is_the_usual_one_or_the_first(self) -> None:
        assert inputs.default_voice(["af_alloy", "af_heart"]) == "af_heart"
        assert inputs.default_voice(["one", "two"]) == "one"
        with pytest.raises(UnknownVoiceError):
            inputs.default_voice([])
