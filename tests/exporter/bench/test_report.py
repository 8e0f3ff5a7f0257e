"""A report of the benchmark is well-formed in each of its forms."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from rich.console import Console

from exporter.bench.plot import plot
from exporter.bench.report import (
    UnwritableReportError,
    as_json,
    as_markdown,
    as_terminal,
    prepare,
    save,
    save_soak,
)
from exporter.bench.results import ENGINES, NAMES
from exporter.bench.soak import Resident, Soak
from exporter.bench.tables import tables
from tests.support.bench_example import benchmark, kernels, timings

SVG = "{http://www.w3.org/2000/svg}"
partial = benchmark(
    timings=tuple(timing for timing in timings() if timing.engine == "bundle"),
    profile=None,
    export_seconds=None,
    streams=(),
)
reports = pytest.mark.parametrize("found", [benchmark(), partial], ids=["all", "bundle alone"])


@reports
def test_markdown_tables_are_well_formed(found):
    blocks = re.findall(r"(?:^\|.*\|\n)+", as_markdown(found) + "\n", re.MULTILINE)
    assert len(blocks) == len(tables(found))
    for block in blocks:
        rows = [re.split(r"(?<!\\)\|", line.strip("|")) for line in block.strip().split("\n")]
        assert len({len(row) for row in rows}) == 1
        assert all(re.fullmatch(r" ?-+:? ?", cell) for cell in rows[1])


def test_markdown_says_what_was_measured_and_shows_the_plot():
    text = as_markdown(benchmark())
    assert "](bench.svg)" in text
    assert "medians of 3 interleaved rounds" in text
    assert all(name in text for name in NAMES.values())
    assert "winograd_128_11_1" in text


def test_streams_are_compared_with_what_must_be_seen():
    (table,) = [table for table in tables(benchmark()) if "piece by piece" in table.title]
    assert table.title.startswith("A text of 3,000 phonemes")
    assert table.rows == (
        ("first audio, warm", "0.110 s", "8.000 s", "0.01", "0.5", "yes"),
        ("whole text", "30.000 s", "58.000 s", "0.52", "0.5", "no"),
        ("peak memory", "900 MiB", "1,500 MiB", "0.60", "1", "yes"),
    )
    without = [table.title for table in tables(benchmark(streams=()))]
    assert table.title not in without


def test_a_kernel_that_nobody_counted_is_named():
    profile = benchmark().profile
    unknown = replace(kernels()[0], kernel="mystery_7", family="mystery", gflop=None)
    changed = replace(profile, kernels=(unknown, *kernels()[1:]))
    assert "Not counted: mystery" in as_markdown(benchmark(profile=changed))
    assert "Not counted" not in as_markdown(benchmark())


@pytest.mark.parametrize(
    ("change", "warning"), [({"idle_share": 0.5}, "DISTURBED"), ({"busy_after": 0.9}, "MACHINE WAS BUSY")]
)
def test_a_disturbed_measurement_is_marked(change, warning):
    assert warning in as_markdown(benchmark(**change))
    assert warning not in as_markdown(benchmark())


@reports
def test_json_is_json_and_holds_every_timing_with_its_median(found):
    content = json.loads(as_json(found), parse_constant=pytest.fail)
    assert [entry["median"] for entry in content["timings"]] == [each.median for each in found.timings]
    assert len(content["goals"]) == 12
    assert {entry["reached"] for entry in content["goals"]} <= {"goal", "at least", "no", None}


@reports
def test_the_plot_stands_alone_and_has_a_line_for_each_engine(found):
    text = plot(found)
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert not re.search(r'@import|<script|href="(?!#)|url\((?!#)', text)
    assert "prefers-color-scheme:dark" in text
    measured = {NAMES[engine] for engine in ENGINES if found.timing(engine, 62)}
    texts = {element.text for element in root.iter(f"{SVG}text")}
    assert texts & set(NAMES.values()) == measured
    assert {"12", "62", "200", "450"} <= texts


@pytest.mark.parametrize("width", [80, 200])
def test_the_terminal_shows_every_table_and_cuts_no_number(width):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(as_terminal(benchmark(facts={"machine": "a [bold] CPU"}), width))
    text = console.export_text()
    assert "a [bold] CPU" in text
    assert all(table.title in text for table in tables(benchmark()))
    assert "…" not in text
    numbers = [row[-1] for table in tables(benchmark()) for row in table.rows]
    assert all(number in text for number in numbers)


def test_a_report_is_saved_in_three_files(tmp_path):
    files = save(benchmark(), tmp_path / "new")
    assert [file.name for file in files] == ["bench.md", "bench.json", "bench.svg"]
    assert all(file.stat().st_size for file in files)


def test_a_place_that_cannot_be_written_is_refused_before_anything_slow(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UnwritableReportError, match="--save-dir"):
        prepare(tmp_path / "file" / "below")


def test_growth_of_memory_counts_from_where_it_settled(tmp_path):
    samples = (Resident(5, 100), Resident(10, 400_000_000), Resident(100, 404_000_000))
    soak = Soak(3, 200, 100, 10, samples, 60.0, 6.0)
    assert (soak.growth, soak.flat) == (4_000_000, True)
    content = json.loads(save_soak(soak, tmp_path)[0].read_text())
    assert content["growth"] == 4_000_000
    assert content["samples"][-1] == {"utterances": 100, "bytes": 404_000_000}
