"""The report of a validation: for people and for machines, whole or not at all, and only over a report."""

from __future__ import annotations

import io
import json
import re
import struct
import subprocess
import sys
from base64 import b64decode
from dataclasses import replace
from functools import cache, partial
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.console import Console

from exporter.validate.report import plots
from exporter.validate.report import save as report_module
from exporter.validate.report.page import page
from exporter.validate.report.plots import busiest_channel, drawn_limit, envelope, spectrogram_plot, step_plot
from exporter.validate.report.save import NotAReportError, as_json, save
from exporter.validate.report.terminal import show
from exporter.validate.report.text import verdict
from exporter.validate.results import BUNDLE, DYNAMIC, EQUAL, Report, Table
from runtime_min.errors import DiskFullError
from runtime_min.model.distances import Figure
from runtime_min.output import staging
from tests.support.fakes.validation_report import STEPS, drawn_once, report, step
from tests.support.paths import PROVING

GOOD = report()
BAD = report(broken="decoder hidden")
HOSTILE = '<script>alert("1")</script>[bold]&amp;\'\n\x1b[31m'
SHORT = replace(GOOD, utterances=GOOD.utterances[:1])
OF_OTHERS = report(hostile=HOSTILE)
PLOTS = step_plot, spectrogram_plot, plots.experiment_plot
REPORTS = {"good": GOOD, "bad": BAD, "hostile": replace(OF_OTHERS, utterances=OF_OTHERS.utterances[:1])}
"""The second utterance has no hostile text."""


def html_of(found: Report) -> str:
    return page(found, [{}] * len(found.utterances))


@cache
def page_of(name: str) -> str:
    """The page of one of `REPORTS`; they have most of their plots in common."""
    with pytest.MonkeyPatch.context() as patch:
        for plot in PLOTS:
            patch.setattr(plots, plot.__name__, partial(drawn_once, plot))
        return html_of(REPORTS[name])


def image(address: str) -> ElementTree.Element:
    """The SVG document in the address of an image."""
    kind, data = address.split(",")
    assert kind == "data:image/svg+xml;base64"
    return ElementTree.fromstring(b64decode(data, validate=True))


def drawn_texts(address: str) -> set[str | None]:
    return {element.text for element in image(address).iter("{http://www.w3.org/2000/svg}text")}


def printed(found: Report, width: int = 100) -> str:
    console = Console(width=width, record=True, file=io.StringIO(), color_system=None)
    show(found, console)
    return console.export_text()


def files_of(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }


def with_step_figure(found: Report, figure: Figure, own: float) -> Report:
    spoken = found.utterances[0]
    first = replace(spoken.steps[0], figures=(figure,), own={"float64": own})
    table = Table("a", "b", ("c", "d"), (("e", own), (1, figure.value)))
    changed = replace(spoken, steps=(first, *spoken.steps[1:]), chain=(figure,), tables=(table,))
    return replace(found, utterances=(changed, *found.utterances[1:]))


class Balance(HTMLParser):
    """Fails where an element is closed that is not open."""

    VOID = frozenset({"meta", "img"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(html: str) -> Balance:
    parser = Balance()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    return parser


def images_of(html: str) -> list[str]:
    """The addresses of all images of a page."""
    return [str(attributes["src"]) for tag, attributes in parsed(html).seen if tag == "img"]


@pytest.fixture
def quick_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plots take seconds, and say nothing about the page around them."""
    for plot in PLOTS:
        monkeypatch.setattr(plots, plot.__name__, lambda drawn: "data:,")


# Verdict and terminal.


def test_the_last_line_says_that_all_is_within_its_limits_or_which_step_misses_first_and_where() -> None:
    last = printed(GOOD).splitlines()[-1]
    assert last == verdict(GOOD)
    assert last.startswith(f"all {len(STEPS)} steps of 2 utterances match kokoro within their limits; ")
    frame = BAD.utterances[1].frames // 2
    missed = (
        r"MISSED: 'decoder hidden' of '.*' \(bm_george\): expected at least 90.0 dB, found [\d.]+; "
        rf"first at frame {frame}"
    )
    assert re.fullmatch(missed, printed(BAD).splitlines()[-1])


def test_a_chain_or_an_experiment_that_misses_is_a_miss() -> None:
    spoken = GOOD.utterances[0]
    chain = replace(spoken, chain=(Figure("durations that differ", 2, 0),))
    assert verdict(replace(GOOD, utterances=(chain,))).startswith("MISSED: the chain")
    tables = replace(spoken, tables=(replace(spoken.tables[0], holds=False),))
    line = verdict(replace(GOOD, utterances=(tables,)))
    assert line.startswith("MISSED: 'Experiment C") and spoken.tables[0].conclusion in line


@pytest.mark.parametrize("found", [GOOD, BAD])
@pytest.mark.parametrize("width", [80, 100, 140])
def test_the_worst_step_is_marked_without_colour_and_every_number_fits(found: Report, width: int) -> None:
    text = printed(found, width)
    assert "…" not in text.replace(verdict(found), "")
    assert max(len(line) for line in text.splitlines() if line != verdict(found)) <= width
    for spoken in found.utterances:
        assert re.search(rf"^> {spoken.worst.name} ", text, re.MULTILINE)
    marked = re.findall(r"^> (.*?)  ", text, re.MULTILINE)
    # Each worst step in two tables, and the marked row of an experiment.
    assert len(marked) == 3 * len(found.utterances)


def test_a_step_that_is_no_number_says_so() -> None:
    reference = np.ones((1, 4), np.float32)
    values = np.array([[1, 1, np.nan, 1]], np.float32)
    broken = step("F0", {EQUAL: values}, reference, Figure("F0, dB", float("nan"), 90, True))
    spoken = replace(GOOD.utterances[0], steps=(broken,))
    found = replace(GOOD, utterances=(spoken,))
    assert "MISSED, frame 2, not finite" in printed(found)
    assert "not finite" in verdict(found)
    assert "not finite" in drawn_texts(step_plot(broken))


# JSON.


@given(value=st.floats(), own=st.floats(), limit=st.floats(min_value=1e-9, max_value=200))
def test_the_json_is_valid_for_every_float_and_gives_it_back(value: float, own: float, limit: float) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    found = with_step_figure(GOOD, Figure("bert", value, limit), own)
    entries = json.loads(as_json(found), parse_constant=refuse)
    first = entries["utterances"][0]["steps"][0]
    for entry, expected in ((first["figures"][0]["value"], value), (first["own"]["float64"], own)):
        assert np.array_equal(float(entry), expected, equal_nan=True)
    assert entries["holds"] == found.holds


def test_the_json_holds_every_difference() -> None:
    for spoken, entry in zip(BAD.utterances, json.loads(as_json(BAD))["utterances"], strict=True):
        assert entry["worst"] == spoken.worst.name
        for expected, found in zip(spoken.steps, entry["steps"], strict=True):
            assert (found["name"], tuple(found["shape"])) == (expected.name, expected.reference.shape)
            for name, difference in expected.differences.items():
                assert found["differences"][name]["decibels"] == difference.decibels
                assert found["differences"][name]["first_over"] == difference.first_over


# Page.


@pytest.mark.parametrize("name", REPORTS)
def test_the_page_is_well_formed_and_asks_for_nothing(name: str) -> None:
    html = page_of(name)
    assert html.startswith("<!doctype html>")
    parser = parsed(html)
    assert "http" not in html and "@import" not in html and "url(" not in html
    assert not {"script", "link", "iframe", "object"} & {tag for tag, _ in parser.seen}
    for _, attributes in parser.seen:
        assert not any(name.startswith("on") for name in attributes)
    images = images_of(html)
    assert len(images) >= 4
    for address in images:
        assert not re.search(rb"<script|@import|href=\"(?!#|data:)", ElementTree.tostring(image(address)))


def test_the_page_escapes_what_others_wrote_and_has_the_same_plots_each_time() -> None:
    html = page_of("hostile")
    assert "<script" not in html and "\x1b" not in html
    assert "&lt;script&gt;" in html
    assert "\x1b" not in printed(REPORTS["hostile"])
    assert set(images_of(html_of(SHORT))) < set(images_of(page_of("good")))


@pytest.mark.usefixtures("quick_plots")
def test_the_page_without_its_plots_is_the_same_each_time() -> None:
    assert html_of(GOOD) == html_of(GOOD)


@pytest.mark.parametrize("name", ["good", "bad"])
def test_the_page_opens_and_marks_the_worst_step_of_each_utterance(name: str) -> None:
    html = page_of(name)
    opened = re.findall(r"<details open><summary>.*?<b>(.*?)</b>", html)
    assert opened == [spoken.worst.name for spoken in REPORTS[name].utterances]
    marked = re.findall(r'<tr class="worst">\s*<th scope="row"><a [^>]*>(.*?)</a>', html)
    assert marked == opened


def test_every_link_within_the_page_leads_somewhere() -> None:
    seen = parsed(page_of("bad")).seen
    places = [attributes["id"] for _, attributes in seen if "id" in attributes]
    assert len(places) == len(set(places))
    links = {str(attributes["href"]) for tag, attributes in seen if tag == "a"}
    assert {link.removeprefix("#") for link in links} <= set(places)


def test_matplotlib_is_loaded_with_the_first_plot_and_needs_no_home_directory() -> None:
    code = """
import sys
from exporter.validate.report.page import page
from tests.support.fakes.validation_report import report
found = report()
assert "matplotlib" not in sys.modules
from exporter.validate.report.plots import step_plot
assert step_plot(found.utterances[0].steps[0])
assert "matplotlib.pyplot" not in sys.modules
"""
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/dev/null/none", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


# Plots.


@given(st.integers(0, 99_999), st.floats(-1, 1))
def test_a_plot_of_a_long_signal_shows_its_single_peak(place: int, height: float) -> None:
    values = np.zeros(100_000)
    values[place] = height
    x, low, high = envelope(np.arange(values.size), values)
    assert x.shape == low.shape == high.shape and x.size < 1_000
    assert (low.min(), high.max()) == (values.min(), values.max())
    assert np.count_nonzero(low) + np.count_nonzero(high) == (height != 0)
    assert height == 0 or 0 <= place - x[np.flatnonzero(low + high)[0]] < 1_000


@settings(max_examples=4 if PROVING else 2)
@given(st.lists(st.floats(width=32), min_size=1, max_size=40))
@example([float("nan"), float("inf"), -float("inf"), 3.4e38])
@example([0.0])
def test_any_values_can_be_drawn(values: list[float]) -> None:
    reference = np.linspace(0, 1, len(values), dtype=np.float32)[None]
    with np.errstate(all="ignore"):
        drawn = step("any", {EQUAL: np.array([values], np.float32)}, reference, Figure("any", 1.0, 1e-5))
        texts = drawn_texts(step_plot(drawn))
        assert {"Values", EQUAL, "limit" if drawn_limit(drawn) else EQUAL} <= texts
        assert f"Spectrogram, {DYNAMIC}" in drawn_texts(spectrogram_plot(drawn))


def test_the_limit_is_drawn_where_the_judged_number_is_an_error_over_the_rms() -> None:
    reference = np.ones((1, 4), np.float32)
    values = {EQUAL: reference + np.float32(1e-3)}
    assert drawn_limit(step("a", values, reference, Figure("a, dB", 60, 80, True))) == pytest.approx(1e-4)
    relative = step("a", values, reference, Figure("a", 0, 1)).differences[EQUAL].relative
    assert drawn_limit(step("a", values, reference, Figure("a", relative, 1e-2))) == 1e-2
    assert drawn_limit(step("a", values, reference, Figure("a in other units", 1.3, 2))) is None


def test_the_channel_that_is_drawn_is_the_one_with_the_greatest_error() -> None:
    reference = np.ones((1, 5, 8), np.float32)
    wrong = reference.copy()
    wrong[0, 3, 2] = 1.5
    figure = Figure("a", 0.5, 1e-5)
    assert busiest_channel(step("a", {EQUAL: wrong}, reference, figure)) == 3
    wrong[0, 1, 0] = np.nan
    assert busiest_channel(step("a", {EQUAL: wrong}, reference, figure)) == 1


# Saving.


@pytest.fixture
def quick_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plots take seconds, and say nothing about how a report is saved."""
    monkeypatch.setattr(report_module, "page", lambda report, audio: "<!doctype html>")


@pytest.mark.usefixtures("quick_page")
def test_what_is_saved_holds_every_tensor_and_floats_that_can_be_heard(tmp_path: Path) -> None:
    # Beyond full scale: PCM would clip it.
    spoken = BAD.utterances[0]
    loud = replace(spoken.steps[-1], values={BUNDLE: 3 * spoken.steps[-1].reference})
    found = replace(BAD, utterances=(replace(spoken, steps=(*spoken.steps[:-1], loud)), BAD.utterances[1]))
    save(found, tmp_path / "report")
    for index, each in enumerate(found.utterances):
        with np.load(tmp_path / "report" / "tensors" / f"{index}.npz", allow_pickle=False) as tensors:
            expected = {f"{part.name}/{DYNAMIC}": part.reference for part in each.steps}
            expected |= {
                f"{part.name}/{name}": array for part in each.steps for name, array in part.values.items()
            }
            assert set(tensors.files) == set(expected)
            for name, array in expected.items():
                np.testing.assert_array_equal(tensors[name], array)
    data = (tmp_path / "report" / "audio" / "0-bundle.wav").read_bytes()
    code, channels, rate = struct.unpack_from("<HHI", data, 20)
    assert (code, channels, rate) == (3, 1, 24_000)
    samples = loud.values[BUNDLE].astype("<f4").tobytes()
    assert data.endswith(samples)
    assert {"report.html", "report.json"} <= set(files_of(tmp_path / "report"))
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


@pytest.mark.usefixtures("quick_plots")
def test_a_report_replaces_an_empty_directory_and_a_report_and_names_files_that_exist(tmp_path: Path) -> None:
    (tmp_path / "report").mkdir()
    save(BAD, tmp_path / "report")
    assert json.loads((tmp_path / "report" / "report.json").read_text())["holds"] is False
    (tmp_path / "report" / "tensors" / "7.npz").write_bytes(b"of an earlier run")
    save(GOOD, tmp_path / "report")
    found = files_of(tmp_path / "report")
    links = re.findall(r'href="([^"#][^"]*)"', found["report.html"].decode())
    entries = json.loads(found["report.json"])["utterances"]
    named = {name for entry in entries for name in (entry["tensors"], *entry["audio"].values())}
    assert set(links) <= named == {name for name in found if not name.startswith("report.")}


@pytest.mark.parametrize("name", ["notes.txt", "report.json"])
@pytest.mark.usefixtures("quick_page")
def test_what_is_no_report_is_refused_and_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / name).write_text('{"format": "another"}')
    before = files_of(tmp_path)
    with pytest.raises(NotAReportError, match="name a new directory") as caught:
        save(GOOD, tmp_path / "mine")
    assert caught.value.exit_code == 6
    with pytest.raises(NotAReportError):
        save(GOOD, tmp_path / "mine" / name)
    assert files_of(tmp_path) == before


@pytest.mark.usefixtures("quick_page")
def test_a_report_that_a_system_left_its_files_in_is_replaced(tmp_path: Path) -> None:
    for _ in range(2):
        (tmp_path / "report").mkdir(exist_ok=True)
        (tmp_path / "report" / ".DS_Store").write_bytes(b"of the system")
        save(GOOD, tmp_path / "report")
    assert not (tmp_path / "report" / ".DS_Store").exists()


@pytest.mark.usefixtures("quick_page")
def test_a_report_with_notes_of_its_reader_is_not_replaced(tmp_path: Path) -> None:
    save(GOOD, tmp_path / "report")
    (tmp_path / "report" / "audio" / "notes.txt").write_text("precious")
    before = files_of(tmp_path)
    with pytest.raises(NotAReportError, match="or other files"):
        save(GOOD, tmp_path / "report")
    assert files_of(tmp_path) == before


@pytest.mark.parametrize("failing", ["page", "replace_directory"])
@pytest.mark.usefixtures("quick_page")
def test_a_failure_leaves_the_earlier_report_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    save(GOOD, tmp_path / "report")
    before = files_of(tmp_path)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(report_module if failing == "page" else staging, failing, fail)
    with pytest.raises(DiskFullError, match="make room, or write to another disk"):
        save(BAD, tmp_path / "report")
    assert files_of(tmp_path) == before
