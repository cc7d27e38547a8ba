"""A fifth label, "unsupported citation", reaches everything without a change to the product's files.

A child process adds its row before anything else is imported and runs `fifth/checks.py`: configuration, prompts,
parser, PatternRM, detectors, reward, metrics and page.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from reward_workers.judges.prompts.render import prompt_version

FIFTH = Path(__file__).parent / "fifth"
ROOT = Path(__file__).parents[2]
CHECKS = re.findall(r"^def (test_\w+)", (FIFTH / "checks.py").read_text(), re.MULTILINE)

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What failed of each check, by its name; an empty list where all of it passed."""
    report = tmp_path_factory.mktemp("fifth") / "results.xml"
    how = (
        "-q",
        "-p",
        "fifth_label",
        "-p",
        "no:cacheprovider",
        "-o",
        "addopts=",
        "--import-mode=importlib",
        "-o",
        "junit_logging=out-err",
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", FIFTH / "checks.py", *how, f"--junit-xml={report}"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(FIFTH), str(ROOT)))},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert report.exists(), done.stdout + done.stderr
    found: dict[str, list[str]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name = case.attrib["name"].partition("[")[0]
        problems = [problem for tag in ("failure", "error") for problem in case.iter(tag)]
        failed = [f"{case.attrib['name']}: {problem.text}" for problem in problems]
        found.setdefault(name, []).extend(failed)
        said = re.search(r"^VERSIONS (.+)$", case.findtext("system-out") or "", re.MULTILINE)
        if said is not None:
            found["versions"] = json.loads(said[1])
    return found


@pytest.mark.parametrize("check", CHECKS)
def test_the_fifth_label(check: str, results: dict[str, list[str]]) -> None:
    assert check in results, f"{check} did not run"
    assert not results[check], "\n".join(results[check])


def test_the_versions_of_the_prompts_differ(results: dict[str, list[str]]) -> None:
    ours = [prompt_version(name) for name in ("pattern_judge", "pattern_rm", "labels_reminder")]
    assert len(results["versions"]) == 3 and not set(ours) & set(results["versions"])
