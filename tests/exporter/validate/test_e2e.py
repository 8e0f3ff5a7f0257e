"""The result of comparing final waveforms: a line, tables and JSON, and the CPU levels that are compared."""

from __future__ import annotations

import json
import math
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from exporter.parity.waveforms import levels_here, verdict
from exporter.reference.utterances import Utterance
from exporter.validate import e2e
from exporter.validate.e2e import as_json, as_tables
from runtime_min.errors import CpuLevelError, OutputError, UsageError
from runtime_min.format.manifest import CpuLevel
from tests.support.fakes.kokoro_answers import SAID, waveform


class TestReports:
    def test_a_good_bundle_is_one_line(self) -> None:
        line = verdict([waveform(), waveform(name="v3")], Path("demo"))
        assert line == "demo matches kokoro: 1 utterance is within every threshold on v4, v3."

    def test_a_bad_one_names_utterance_level_figure_limit_and_what_to_do(self) -> None:
        said = Utterance("it's", "af_heart", speed=0.5, seed=3)
        line = verdict([waveform(), waveform(12.5, "v3", said)], Path("demo"))
        assert "1 of 2 waveforms miss a threshold" in line
        assert '"it\'s" (af_heart, speed 0.5, seed 3) on v3: chain, dB is 12.5, expected at least 30' in line
        quoted = "'it'\"'\"'s'"
        assert line.endswith(
            f"kokoro-export validate steps demo --phonemes {quoted} --voice af_heart --speed 0.5 --seed 3 "
            "--cpu-level v3"
        )

    @pytest.mark.parametrize("width", [80, 120])
    def test_the_table_shows_every_figure_with_its_limit(self, width: int) -> None:
        console = Console(width=width, record=True, file=StringIO())
        said = Utterance("[bold]ðə kwˈɪk bɹˈWn fˈɑks ʤˈʌmps", "am_michael", speed=0.25)
        console.print(*as_tables([waveform(12.5, said=said), waveform(name="v3")]))
        text = console.export_text()
        assert "12.5 ≥ 30.0" in text and "0.01 ≤ 0.10" in text and "none" in text
        assert "am_michael" in text and "0.25" in text and "2.00" in text and "equal" in text
        assert "v3" in text and "v4" in text
        assert "…" in text or "[bold]" in text
        assert max(map(len, text.splitlines())) <= width

    @given(value=st.floats())
    def test_json_has_numbers_or_null(self, value: float) -> None:
        (entry,) = json.loads(json.dumps(as_json([waveform(value)]), allow_nan=False))
        (figure,) = (each for each in entry["figures"] if each["name"] == "chain, dB")
        assert figure["holds"] == entry["holds"] == (value >= 30)
        assert (figure["value"] is None) == math.isnan(value)
        assert entry["phonemes"] == SAID.phonemes and entry["seconds"] == 2

    def test_a_file_that_cannot_be_written_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(OutputError, match=f"{tmp_path} cannot be written"):
            e2e.write_json(tmp_path, [waveform()], Path("demo"))
        e2e.write_json(tmp_path / "found.json", [waveform()], Path("demo"))
        assert json.loads((tmp_path / "found.json").read_text())["verdict"].startswith("demo matches")


class TestLevels:
    RUNS = CpuLevel("runs", ())
    LACKS = CpuLevel("lacks", ("no-such-feature",))

    def manifest(self, *levels: CpuLevel) -> Any:
        return SimpleNamespace(target=SimpleNamespace(levels=levels))

    def test_they_are_those_that_this_machine_runs(self) -> None:
        assert levels_here(self.manifest(self.LACKS, self.RUNS)) == ("runs",)
        other = CpuLevel("other", ())
        assert levels_here(self.manifest(self.RUNS, other)) == ("runs", "other")
        assert levels_here(self.manifest(self.RUNS, other), "other") == ("other",)

    @pytest.mark.parametrize(("only", "error"), [("lacks", CpuLevelError), ("unknown", UsageError)])
    def test_one_that_it_does_not_run_is_refused(self, only: str, error: type[Exception]) -> None:
        with pytest.raises(error):
            levels_here(self.manifest(self.RUNS, self.LACKS), only)
