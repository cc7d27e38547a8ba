"""The report: whole, repeatable, safe with hostile text, fast and small with many responses."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from evaluation.pattern_eval.lengths import length_relation
from evaluation.report.content import CONDITIONAL, Report
from evaluation.report.files import write_report
from evaluation.report.page import example_responses
from foundation.runs.evaluation_records import Response
from foundation.runs.mode_rates import aggregate, pairs_of, rows_of

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> {{ 7*7 }} =SUM(A1) \ud83d"
Make = Callable[[Sequence[Response]], Report]


@pytest.fixture
def make(taxonomy: dict[str, dict[str, str]]) -> Make:
    def build(responses: Sequence[Response]) -> Report:
        rows, pairs = rows_of(responses), pairs_of(responses, resamples=2000, seed=0)
        return Report(
            title="a run",
            rows=rows,
            pairs=pairs,
            aggregates=aggregate(rows, pairs),
            taxonomy=taxonomy,
            facts=[("prompts", "60")],
            notices=["the endpoint puts answers into the reasoning field"],
            composition={"VG": {"OOD": 20, "Rec": 20}, "OS": {"OCR": 20}},
            lengths=length_relation(responses, "chars", "all", 6),
            responses=responses,
            series={"size": ["small", "large"]},
        )

    return build


def write(report: Report, folder: Path) -> Path:
    return write_report(report, folder, examples_per_label=2, text_budget_mb=8)


class _Page(HTMLParser):
    """Counts tags and collects the addresses that a browser would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: dict[str, int] = {}
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.addresses += [v for k, v in attrs if k in ("src", "href") and v and not v.startswith(("data:", "#"))]


def read(path: Path) -> tuple[_Page, str]:
    text = path.read_text()
    page = _Page()
    page.feed(text)
    return page, text


def test_the_page_stands_alone_and_says_what_it_is(make: Make, responses, tmp_path: Path):
    page, text = read(write(make(responses(30)), tmp_path))
    assert CONDITIONAL in text
    assert page.addresses == []
    assert page.tags["figure"] == 6  # bars, composition, series, radar, two of length
    assert page.tags["script"] == 2
    assert {path.name for path in tmp_path.iterdir()} == {
        "figures",
        "page.html",
        "results.json",
        "responses.csv",
        "rows.csv",
    }
    assert "the endpoint puts answers into the reasoning field" in text


def test_the_same_results_make_the_same_files(make: Make, responses, tmp_path: Path):
    found = []
    for name in ("one", "two"):
        write(make(responses(30)), tmp_path / name)
        files = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        found.append({path.relative_to(tmp_path / name).as_posix(): path.read_bytes() for path in files})
    assert len(found[0]) == 10
    assert found[0] == found[1]


def test_hostile_text_stays_text(make: Make, responses, tmp_path: Path):
    given = [replace(r, visible=HOSTILE, question=HOSTILE, evidence={"cot": HOSTILE}) for r in responses(6)]
    page, text = read(write(make(given), tmp_path))
    assert page.tags["script"] == 2
    assert "<img src=x" not in text and "49 =SUM" not in text
    data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.S)[1])
    assert "</script><script>alert(1)" in data["text"][0]


def test_csv_files_hold_every_cell(make: Make, responses, tmp_path: Path):
    given = responses(30)
    report = make(given)
    write(report, tmp_path)
    with (tmp_path / "responses.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(given)
    assert [row["cot"] for row in rows[:20]] == [
        "" if r.labels is None else str(int(r.labels["cot"])) for r in given[:20]
    ]
    with (tmp_path / "rows.csv").open(newline="") as file:
        rates = list(csv.DictReader(file))
    assert len(rates) == 4 * (6 + 2 + 3)
    found = json.loads((tmp_path / "results.json").read_text())
    assert found["label"] == CONDITIONAL
    assert found["rows"][0]["rates"]["acc"]["n"] == report.rows[0].rates["acc"].n


def test_a_formula_of_a_model_is_no_formula(make: Make, responses, tmp_path: Path):
    write(make([replace(r, visible="=1+1") for r in responses(3)]), tmp_path)
    with (tmp_path / "responses.csv").open(newline="") as file:
        assert {row["visible"] for row in csv.DictReader(file)} == {"'=1+1"}


def test_examples_show_each_label_and_an_acceptable_response(responses):
    found = example_responses(responses(60), 2)
    assert set(found) == {"cot", "rep", "con", "pr", "none"}
    assert all(len(chosen) == 2 for chosen in found.values())
    assert all(r.labels["con"] for r in found["con"]) and not any(r.trigger for r in found["none"])


def test_a_report_of_one_mode_with_nothing_judged(make: Make, responses, tmp_path: Path):
    given = [replace(r, labels=None, correct=None) for r in responses(3, ("only",)) if r.mode == "nt"]
    page, text = read(write(make(given), tmp_path))
    assert "–" in text and page.tags["table"] >= 2


@pytest.mark.integration
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_the_page_works_in_a_browser(make: Make, responses, tmp_path: Path):
    page = write(make(responses(30)), tmp_path)
    line = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    ended = subprocess.run(
        [*line, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=100, check=True
    )
    shown = _Page()
    shown.feed(ended.stdout)
    assert re.search(r">120 of 120 responses; Acc [\d.]+ %, Trigger [\d.]+ %", ended.stdout)
    assert shown.tags["article"] >= 25


def test_10_000_records_take_less_than_30_s_and_20_mb(make: Make, responses, tmp_path: Path):
    given = responses(2500, words=400)  # 2 models, 2 modes, about 3,000 characters each
    assert len(given) == 10_000
    started = time.process_time()  # others may use the machine
    page = write(make(given), tmp_path)
    assert time.process_time() - started < 30
    assert page.stat().st_size < 20e6
    _, text = read(page)
    assert re.search(r"texts are cut at [\d,]+ characters; responses.csv has them whole", text)
