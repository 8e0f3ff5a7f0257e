"""Text from a bundle or an error is shown as it is: no markup, no emoji, nothing that a terminal obeys."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from typer.testing import CliRunner

from exporter.bundle.write import write_bundle
from exporter.cli.main import app
from exporter.cli.terminal import ConsoleProgress, plain_console
from exporter.errors import ExportError
from runtime_min.command_line import exit_code
from runtime_min.format.manifest import CpuLevel
from tests.support.tiny.bundle import dummy_contents, with_entries

NAMES = ("[red]", "[/]", ":boom:", "[link=file:///etc/passwd]")


@pytest.mark.parametrize("name", NAMES)
def test_inspect_shows_a_manifests_names_as_they_are(tmp_path: Path, name: str) -> None:
    made = dummy_contents(tmp_path)
    made = with_entries(
        made,
        model=made.manifest.model._replace(name=name),
        target=made.manifest.target._replace(name=name, triple=name, levels=(CpuLevel(name, ()),)),
        stages=tuple(
            stage._replace(libraries=tuple(each._replace(level=name) for each in stage.libraries))
            for stage in made.manifest.stages
        ),
        parity={name: name, f"{name}: {name}": 1.5},
        extensions={name: 1},
    )
    shown = CliRunner().invoke(
        app, ["inspect", str(write_bundle(tmp_path / "bundle", made))], env={"COLUMNS": "200"}
    )
    assert shown.exit_code == 0, shown.output
    # The model, the target's name and triple, the level thrice, the extension, and thrice in parity.
    assert shown.stdout.count(name) == 10


@pytest.mark.parametrize("name", NAMES)
def test_progress_and_tables_show_names_as_they_are(name: str) -> None:
    output = io.StringIO()
    with ConsoleProgress(plain_console(file=output, force_terminal=True)) as progress:
        progress.planned(1)
        progress.started(name)
        progress.warning(name)
        progress.doing(name)
    assert output.getvalue().count(name) >= 3


def test_an_error_sends_no_command_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> int:
        raise ExportError("the linker says:\n\tno \x1b[2J\x07 \u202e file \udc80 é")

    assert exit_code(fail) == 1
    assert capsys.readouterr().err == "error: the linker says:\n\tno \\x1b[2J\\x07 \\u202e file \\udc80 é\n"


@pytest.mark.parametrize("value", NAMES)
def test_wrong_usage_is_quoted_as_it_is(value: str) -> None:
    shown = CliRunner().invoke(app, ["bundle", "-o", "x", "--text-buckets", value])
    assert shown.exit_code == 2
    assert value in shown.stderr
