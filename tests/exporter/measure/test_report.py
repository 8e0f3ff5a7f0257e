"""The report of a benchmark is well-formed in each of its forms."""

from __future__ import annotations

import io
import json
import re

import pytest
from rich.console import Console

from benchmarks import tables as compared
from exporter.measure import tables as alone
from exporter.measure.report import (
    UnwritableReportError,
    all_facts,
    as_content,
    as_json,
    as_markdown,
    as_terminal,
    prepare,
    save,
    soak_content,
)
from exporter.measure.soak import Resident, Soak
from tests.support.fakes.benchmark_results import benchmark, comparison

reports = pytest.mark.parametrize(
    "tables", [alone.tables(benchmark()), compared.tables(comparison())], ids=["bundle", "comparison"]
)


@reports
def test_markdown_tables_are_well_formed(tables):
    text = as_markdown("A report.", {"machine": "a CPU"}, (table.markdown() for table in tables))
    blocks = re.findall(r"(?:^\|.*\|\n)+", text + "\n", re.MULTILINE)
    assert len(blocks) == len(tables)
    for block in blocks:
        rows = [re.split(r"(?<!\\)\|", line.strip("|")) for line in block.strip().split("\n")]
        assert len({len(row) for row in rows}) == 1
        assert all(re.fullmatch(r" ?-+:? ?", cell) for cell in rows[1])


def test_the_tables_have_the_figures_of_the_bundle():
    found = {table.title: table for table in alone.tables(benchmark())}
    assert found["Seconds of computing"].rows[3][:2] == ("62", "2")
    assert found["Seconds of computing"].rows[3][-1] == "0.0450"
    assert found["Cold start"].rows == (("bundle", "62", "2.000 s", "1.000 s", "3.000 s"),)
    streamed = found["A text of 3,000 phonemes, piece by piece"]
    assert streamed.rows == (("200.000 s", "0.110 s", "30.000 s", "900 MiB"),)
    titles = [table.title for table in alone.tables(benchmark(profile=None, streams=()))]
    assert titles == ["Seconds of computing", "Cold start", "Peak memory", "Sizes"]


def test_the_tables_have_the_time_of_stages_families_and_kernels():
    found = {table.title: table.rows for table in alone.tables(benchmark())}
    assert found["Stages at 62 tokens, 2 threads"][1] == ("decoder", "125.00", "89.3%", "130.00", "120.00")
    assert found["Families of kernels"][0] == ("winograd", "3", "100.00", "71.4%")
    assert found["Kernels"][1] == ("decoder", "adain_affine", "8", "20.00", "14.3%")
    assert found["Kernels"][-1] == ("all", "1 more", "89", "0.10", "0.1%")


def test_a_busy_machine_is_marked():
    warned, quiet = (" ".join(all_facts(benchmark(busy_after=cores)).values()) for cores in (0.9, 0.0))
    assert "MACHINE WAS BUSY" in warned and "BUSY" not in quiet


def test_json_is_json_and_holds_every_timing_with_its_median():
    content = json.loads(as_json(as_content(benchmark())), parse_constant=pytest.fail)
    assert [entry["median"] for entry in content["timings"]] == [each.median for each in benchmark().timings]
    assert content["cold_starts"][0]["median"] == 2
    assert [entry["calls"] for entry in content["profile"]["kernels"]] == [3, 8, 12, 89]


@reports
@pytest.mark.parametrize("width", [80, 200])
def test_the_terminal_shows_every_table_and_cuts_no_number(tables, width):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(as_terminal({"machine": "a [bold] CPU"}, tables, width))
    text = console.export_text()
    assert "a [bold] CPU" in text
    assert all(table.title in text for table in tables)
    assert "…" not in text
    assert all(row[-1] in text for table in tables for row in table.rows)


def test_a_place_that_cannot_be_written_is_refused_before_anything_slow(tmp_path):
    assert [file.read_text() for file in save(tmp_path / "new", {"a": "1", "b": "2"})] == ["1", "2"]
    (tmp_path / "file").write_text("")
    with pytest.raises(UnwritableReportError, match="--save-dir"):
        prepare(tmp_path / "file" / "below")


def test_growth_of_memory_counts_from_where_it_settled():
    samples = (Resident(5, 100), Resident(10, 400_000_000), Resident(100, 404_000_000))
    soak = Soak(3, 200, 100, 10, samples, 60.0, 6.0)
    assert (soak.growth, soak.flat) == (4_000_000, True)
    content = json.loads(as_json(soak_content(soak)))
    assert content["growth"] == 4_000_000
    assert content["samples"][-1] == {"utterances": 100, "bytes": 404_000_000}
