"""A language is a folder of text files: a new one needs no code, and a mistake is an error with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.text.files import LANGUAGES, text_files
from exporter.text.language_files import compile_language, languages
from exporter.text.rule_notation import LanguageFileError
from runtime_min.text.rules import Rules
from tests.support.languages import TINY, TINY_SPOKEN, said


def written(folder: Path, **changes: str) -> Path:
    """Writes the tiny language with some text replaced: ``name="before => after"``."""
    for name, content in TINY.items():
        before, _, after = changes.get(name.removesuffix(".txt"), " => ").partition(" => ")
        assert before in content
        (folder / name).write_text(content.replace(before, after, 1) if before else content, "utf-8")
    return folder


def test_a_new_language_is_files_alone(tmp_path: Path) -> None:
    speak = Rules(compile_language(written(tmp_path)))
    assert {text: said(speak(text)) for text in TINY_SPOKEN} == TINY_SPOKEN
    assert compile_language(tmp_path) == compile_language(tmp_path)


def test_every_bundle_has_the_rules_of_all_languages() -> None:
    assert set(languages()) >= {"es", "it"} and set(LANGUAGES) > set(languages())
    made = text_files(())
    assert made.extensions == {"rules": {each: f"text/{each}.rules.bin" for each in languages()}}
    assert set(made.files) == {*made.extensions["rules"].values()}


@pytest.mark.parametrize(
    ("file", "change", "line", "problem"),
    [
        ("sounds", "vowel = a e i o u => vowel a e i o u", 3, "expected `name = letters`"),
        ("sounds", "front = e i => vowel = e i", 4, "defined twice"),
        ("sounds", "front = e i => front = e e", 4, "letters, each once"),
        ("sounds", "<front> => <back>", 6, "no class <back>: expected one of vowel, front"),
        ("sounds", "_ <front> => <front>", 6, "as _ in the context"),
        ("sounds", "c -> ʧ => c ʧ", 6, "expected `letters -> sounds"),
        ("sounds", "| c -> k => | c -> [kg]", 7, "no set of letters before ->"),
        ("sounds", "-> <vowel> ː => -> <front> ː", 8, "as many letters"),
        ("sounds", "/ _ # => / _ (a|e #", 8, r"expected \)"),
        ("sounds", "/ _ # => / _ [ae", 8, r"begins with \["),
        ("sounds", "vowels <vowel> => sonants <vowel>", 10, "expected `vowels <class>`"),
        ("sounds", "ː # => ː", 11, "end of the word as #"),
        ("sounds", "[sounds: letters] => [sounds: letters | sometimes]", 5, "expected `first only`"),
        ("sounds", "[unstressed] => [soundless]", 17, "expected one of classes, respelling"),
        ("writing", "minus = min => minus min", 2, "expected `what is written"),
        ("writing", "10 = dek => ten = dek", 10, "expected `number = words`"),
        ("writing", "20 = <<dek => 2 = <<dek", 11, "no parts in the rule for 2"),
        ("writing", "20 = <<dek => 20 = <ordinal<dek", 11, "no numbers 'ordinal'"),
        ("writing", "20 = <<dek => 20 = <<dek<<", 11, "at most one"),
        ("writing", "as month} => as year}", 15, "numbers of the language"),
        ("writing", "{day 1-31} => {day 31-1}", 15, "lowest and the highest"),
        ("writing", "a = a => a a", 18, "expected `what is written"),
    ],
)  # fmt: skip
def test_a_mistake_is_an_error_with_its_line(
    tmp_path: Path, file: str, change: str, line: int, problem: str
) -> None:
    with pytest.raises(LanguageFileError, match=rf"^{file}\.txt, line {line}: .*{problem}"):
        compile_language(written(tmp_path, **{file: change}))


def test_a_file_begins_with_a_title(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("casa\n", "utf-8")
    with pytest.raises(LanguageFileError, match=r"^words.txt, line 1: expected a title"):
        compile_language(tmp_path)
