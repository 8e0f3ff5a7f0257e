"""What is validated: utterances from files and texts, the built-in ones, and the checkpoint of the bundle."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.bundle.write import write_bundle
from exporter.errors import CheckpointError
from exporter.model import checkpoint, hub, synthetic
from exporter.reference import utterances as inputs
from exporter.reference.utterances import (
    BUILT_IN,
    TextError,
    Utterance,
    UtterancesError,
    adapted,
    parse_utterances,
    phonemes_of_text,
    read_utterances,
    reference_files,
)
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
from runtime_min.format.manifest import Manifest
from runtime_min.format.verify import read_manifest, sha256_of
from tests.support.tiny_bundle import MAX_PHONEMES, dummy_contents, tensors, voices

words = st.text(st.characters(exclude_categories=("Cs",)), min_size=1)
utterances = st.builds(Utterance, words, words, speed=st.floats(0.25, 4), seed=st.integers(0, 2**64 - 1))


class TestFile:
    @given(said=st.lists(utterances, min_size=1))
    def test_what_is_written_as_json_is_read_back(self, said: list[Utterance]) -> None:
        assert parse_utterances(json.dumps([vars(each) for each in said]), "file") == tuple(said)

    def test_speed_and_seed_may_be_left_out(self) -> None:
        text = '[{"phonemes": "a", "voice": "b"}]'
        assert parse_utterances(text, "file") == (Utterance("a", "b", 1.0, 0),)

    @given(
        content=st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
            lambda inner: (
                st.lists(inner)
                | st.dictionaries(st.sampled_from(["phonemes", "voice", "speed", "seed", "x"]), inner)
            ),
        )
    )
    def test_whatever_else_stands_there_is_refused_with_the_name_of_the_file(self, content: Any) -> None:
        try:
            parsed = parse_utterances(json.dumps(content), "my.json")
        except UtterancesError as error:
            assert str(error).startswith("my.json")
            assert "found" in str(error)
        else:
            assert len(parsed) == len(content)

    @given(text=st.text())
    def test_what_is_no_json_is_refused(self, text: str) -> None:
        with pytest.raises(UtterancesError, match=r"^my\.json"):
            parse_utterances(f"[{text}", "my.json")

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("[]", "expected a list of one or more objects, found []"),
            ("null", "expected a list of one or more objects, found nothing"),
            ('{"phonemes": "a", "voice": "b"}', "expected a list of one or more objects"),
            ('["a"]', "[0]: expected an object with phonemes, voice, speed, seed, found 'a'"),
            ('[{"voice": "b"}]', "[0].phonemes: expected a string that is not empty, found nothing"),
            (
                '[{"phonemes": "a", "voice": "b"}, {"phonemes": 3, "voice": "b"}]',
                "[1].phonemes: expected a string that is not empty, found 3",
            ),
            ('[{"phonemes": "a", "voice": ""}]', "[0].voice: expected a string that is not empty, found ''"),
            (
                '[{"phonemes": "a", "voice": "b", "speed": "fast"}]',
                "[0].speed: The speed must be a number from 0.25 to 4, found 'fast'",
            ),
            ('[{"phonemes": "a", "voice": "b", "speed": NaN}]', "[0].speed: "),
            ('[{"phonemes": "a", "voice": "b", "speed": true}]', "[0].speed: "),
            (f'[{{"phonemes": "a", "voice": "b", "speed": 1{"0" * 400}}}]', "[0].speed: "),
            ('[{"phonemes": "a", "voice": "b", "seed": 1.5}]', "[0].seed: The seed must be an integer"),
            ('[{"phonemes": "a", "voice": "b", "seed": -1}]', "[0].seed: "),
            ('[{"phonemes": "a", "voice": "b", "pitch": 1}]', "[0]: expected no other key than"),
            ('[{"phonemes": "a", "voice": "b", "voice": "c"}]', "[0]: expected every key once"),
            ("[" * 100_000, "expected JSON"),
            (f"[1{'0' * 5000}]", "expected JSON"),
        ],
    )
    def test_a_mistake_is_named_by_place_and_key(self, content: str, message: str) -> None:
        with pytest.raises(UtterancesError) as caught:
            parse_utterances(content, "my.json")
        assert f"my.json, {message}" in str(caught.value) or f"my.json: {message}" in str(caught.value)

    @pytest.mark.parametrize("content", [None, b"\xff\xfe"])
    def test_a_file_that_cannot_be_read_is_named(self, tmp_path: Path, content: bytes | None) -> None:
        file = tmp_path / "my.json"
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(UtterancesError, match=r"my\.json: expected a JSON file in UTF-8"):
            read_utterances(file)


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


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Manifest]:
    directory = tmp_path_factory.mktemp("inputs")
    path = write_bundle(directory / "bundle", dummy_contents(directory))
    return path, read_manifest(path)


@pytest.fixture
def bundle(manifest: tuple[Path, Manifest]) -> Any:
    """A bundle whose stages along tokens are made up: every phoneme lasts as its row of the table says."""
    _, content = manifest
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
        bundle.manifest = replace(bundle.manifest, stages=bundle.manifest.stages[:2])
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


class TestText:
    def test_a_voice_that_tells_no_language_is_refused(self) -> None:
        with pytest.raises(TextError, match=r"'xx_one'.*begins with.*af_heart.*--phonemes"):
            phonemes_of_text("hello", "xx_one")

    @pytest.mark.parametrize("voice", ["af_heart", "bf_emma"])
    def test_a_model_that_is_not_installed_is_named_and_not_fetched(
        self, monkeypatch: pytest.MonkeyPatch, voice: str
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
        self, monkeypatch: pytest.MonkeyPatch, voice: str, package: str
    ) -> None:
        monkeypatch.setitem(sys.modules, package, None)
        for module in ("misaki.zh", "misaki.ja"):
            monkeypatch.delitem(sys.modules, module, raising=False)
        with pytest.raises(TextError, match=rf"misaki\[{voice[0]}.\].*--phonemes"):
            phonemes_of_text("hello", voice)

    def test_a_dictionary_that_is_not_there_is_named_and_not_fetched(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        module = SimpleNamespace(OPEN_JTALK_DICT_DIR=str(tmp_path / "dictionary").encode())
        monkeypatch.setitem(sys.modules, "pyopenjtalk", module)
        with pytest.raises(TextError, match=r"dictionary does not exist.*--phonemes"):
            phonemes_of_text("hello", "jf_alpha")

    @staticmethod
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

    def test_every_part_of_a_long_text_is_spoken(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pipeline(monkeypatch, ["wˈʌn", "", "tˈu"])
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
        self, monkeypatch: pytest.MonkeyPatch, parts: list[str], fallback: object, message: str
    ) -> None:
        self.pipeline(monkeypatch, parts, fallback)
        with pytest.raises(TextError, match=message):
            phonemes_of_text("hello", "af_heart")


class TestReferenceFiles:
    @pytest.fixture
    def files(self, tmp_path: Path) -> tuple[Path, Path]:
        paths = tmp_path / "my.pth", tmp_path / "my.json"
        for path in paths:
            path.write_text(path.name)
        return paths

    @staticmethod
    def made_from(source: str, files: tuple[Path, Path], manifest: tuple[Path, Manifest]) -> Manifest:
        path, config = files
        model = replace(
            manifest[1].model, source=source, sha256=sha256_of(path), config_sha256=sha256_of(config)
        )
        return replace(manifest[1], model=model)

    def test_a_bundle_of_a_file_takes_that_file(
        self, files: tuple[Path, Path], manifest: tuple[Path, Manifest]
    ) -> None:
        made = self.made_from("file", files, manifest)
        assert reference_files(made, str(files[0]), files[1]) == files

    def test_a_bundle_of_a_file_asks_for_both(
        self, files: tuple[Path, Path], manifest: tuple[Path, Manifest]
    ) -> None:
        made = self.made_from("file", files, manifest)
        with pytest.raises(CheckpointError, match="--checkpoint PATH --config PATH"):
            reference_files(made)
        with pytest.raises(CheckpointError, match="--config PATH"):
            reference_files(made, str(files[0]))

    @pytest.mark.parametrize(("changed", "option"), [(0, "--checkpoint"), (1, "--config")])
    def test_another_file_than_the_bundles_is_refused_with_both_digests(
        self, files: tuple[Path, Path], manifest: tuple[Path, Manifest], changed: int, option: str
    ) -> None:
        made = self.made_from("file", files, manifest)
        expected = sha256_of(files[changed])
        files[changed].write_text("another")
        with pytest.raises(CheckpointError) as caught:
            reference_files(made, str(files[0]), files[1])
        for part in (str(files[changed]), expected, sha256_of(files[changed]), f"{option} PATH"):
            assert part in str(caught.value)

    def test_a_file_that_is_not_there_is_named(
        self, files: tuple[Path, Path], manifest: tuple[Path, Manifest]
    ) -> None:
        made = self.made_from("file", files, manifest)
        with pytest.raises(CheckpointError, match=r"no checkpoint at .*other\.pth"):
            reference_files(made, str(files[0].with_name("other.pth")), files[1])

    @pytest.mark.parametrize("source", ["synthetic", "hub"])
    def test_the_checkpoint_is_made_or_fetched_again(
        self,
        monkeypatch: pytest.MonkeyPatch,
        files: tuple[Path, Path],
        manifest: tuple[Path, Manifest],
        source: str,
    ) -> None:
        monkeypatch.setattr(checkpoint, "OFFICIAL_CONFIG", files[1])
        monkeypatch.setattr(synthetic, "ensure_file", lambda config, cache: files[0])
        by_name = {"kokoro-v1_0.pth": files[0], "config.json": files[1]}
        monkeypatch.setattr(hub, "download", by_name.__getitem__)
        assert reference_files(self.made_from(source, files, manifest)) == files
