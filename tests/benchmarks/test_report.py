"""The report of a comparison: its goals, its streams, its plot."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from benchmarks.__main__ import QUOTING
from benchmarks.report import contents, facts, quoted
from benchmarks.results import ENGINES, KOKORO_ONNX
from benchmarks.tables import tables
from exporter.measure.figure_table import FigureTable
from tests.support.fakes.benchmark_results import RATES, comparison, kernels
from tests.support.paths import ROOT

MEASURED = ROOT / "docs" / "measured"
SVG = "{http://www.w3.org/2000/svg}"


def test_markdown_has_the_goals_every_engine_and_the_plot():
    text = contents(comparison())["bench.md"]
    assert text.index("## Goals") < text.index("](bench.svg)") < text.index("## Seconds of computing")
    assert "medians of 3 interleaved rounds" in text
    assert all(f"| {comparison().names[engine]} |" in text for engine in (*RATES, KOKORO_ONNX))
    assert "| model | 214 MB | 214 MB |" in text
    assert "| 62 | 2 | bundle, float16 | 4.133 s | 0.186 s | 0.167 s | 0.0450 | 0.23 |" in text


def test_the_committed_report_has_the_form_of_todays():
    committed = (MEASURED / "bench.md").read_text(encoding="utf-8")
    heads = re.compile(r"(?m)^\| .*\n(?=\| ---)")
    made = contents(comparison())["bench.md"]
    # Not every machine has another arithmetic than float32.
    found, expected = (
        [head.replace(" bundle, bfloat16 |", "") for head in heads.findall(page)]
        for page in (committed, made)
    )
    assert found == expected


def test_documents_quote_the_committed_report():
    committed = (MEASURED / "bench.md").read_text(encoding="utf-8")
    places = [
        place
        for path in (MEASURED / name for name in QUOTING)
        for place in re.findall(r"<!-- (.*) -->\n((?:\|.*\n)+)<!-- end -->", path.read_text(encoding="utf-8"))
    ]
    assert places
    for title, rows in places:
        assert rows in committed[committed.index(f"## {title}\n") :].split("\n## ", 1)[0], title


def test_a_quoted_table_replaces_what_stood_in_its_place():
    table = FigureTable("Side by side", ("figure", "bundle"), (("model", "1 MB"),))
    place = "before\n<!-- Side by side -->\n{}<!-- end -->\nafter\n<!-- end -->\n"
    grid = "| figure | bundle |\n| --- | ---: |\n| model | 1 MB |\n"
    written = quoted(place.format("| old |\n"), [table])
    assert written == place.format(grid)
    assert quoted(written, [table]) == written
    assert quoted("no place", [table]) == "no place"


def test_engines_in_c_have_a_table_beside_the_bundle_with_what_they_need():
    (table,) = [table for table in tables(comparison()) if table.title == "In C, without Python"]
    assert table.head == ("figure", "bundle, float16", "libkokoro", "sherpa-onnx")
    assert table.rows[0] == ("library", "–", "3.3 MB", "31.9 MB")
    assert ("resident after 62 tokens", *["250 MiB"] * 3) in table.rows
    assert not any(row[0] == "durations moved" for row in table.rows)
    (others,) = [table for table in tables(comparison()) if table.title == "Side by side"]
    assert set(table.head[2:]).isdisjoint(others.head)


def test_streams_are_compared_with_what_must_be_seen():
    (table,) = [table for table in tables(comparison()) if "piece by piece" in table.title]
    assert table.title.startswith("A text of 3,000 phonemes")
    assert table.rows == (
        ("first audio, warm", "0.110 s", "8.000 s", "0.01", "0.5", "yes"),
        ("whole text", "30.000 s", "58.000 s", "0.52", "0.5", "no"),
        ("peak memory", "900 MiB", "1,500 MiB", "0.60", "1", "yes"),
    )
    assert table.title not in [table.title for table in tables(comparison(streams=()))]


def test_each_row_of_the_profile_has_its_work_beside_the_machines_peak():
    found = {table.title: table.rows for table in tables(comparison())}
    assert found["Multiply-add peak of the machine"] == (("1", "110"), ("2", "220"))
    flop = 12 * 2 * 768 * 768 * 62 / 1e9
    assert found["Stages at 62 tokens, 2 threads"][0][-3:] == (f"{flop:.2f}", "80", "36%")
    conv1d = ("12", "10.00", "7.1%", f"{flop:.3f}", "88", "40%", f"{flop / 2:.3f}", "0.033", "3.3")
    assert found["Families of kernels"][2] == ("conv1d", *conv1d)
    assert found["Families of kernels"][0][0] == "winograd, effective"
    assert found["Kernels"][2] == ("bert", "conv1d_768_768_1", *conv1d)


def test_a_kernel_that_nobody_counted_is_named():
    profile = comparison().profile
    unknown = replace(kernels()[0], kernel="mystery_7", family="mystery")
    changed = replace(profile, kernels=(unknown, *kernels()[1:]))
    notes = [[table.note for table in tables(comparison(profile=each))] for each in (changed, profile)]
    assert [any("Not counted: mystery" in note for note in of_one) for of_one in notes] == [True, False]


def test_engines_that_disturbed_another_one_are_marked():
    warned, quiet = (" ".join(facts(comparison(idle_share=share)).values()) for share in (0.5, 0.001))
    assert "DISTURBED" in warned and "DISTURBED" not in quiet


def test_json_holds_every_timing_with_its_median_and_the_goals():
    found = comparison()
    content = json.loads(contents(found)["bench.json"], parse_constant=pytest.fail)
    assert [entry["median"] for entry in content["timings"]] == [each.median for each in found.timings]
    bert = content["profile"]["kernels"][2]
    assert (bert["calls"], bert["gflop"], bert["real_gmul"]) == (12, 0.877658112, 0.438829056)
    assert len(content["goals"]) == 13
    assert {entry["reached"] for entry in content["goals"]} <= {"goal", "at least", "no", None}


def test_the_plot_stands_alone_and_has_a_line_for_each_engine():
    text = contents(comparison())["bench.svg"]
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert not re.search(r'@import|<script|href="(?!#)|url\((?!#)', text)
    assert "prefers-color-scheme:dark" in text
    texts = {element.text for element in root.iter(f"{SVG}text")}
    names = comparison().names
    assert texts & set(names.values()) == {names[engine] for engine in ENGINES}
    assert {"12", "62", "200", "450"} <= texts
