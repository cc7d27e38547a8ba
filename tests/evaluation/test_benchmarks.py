"""The ten benchmarks: averages as published, the engine's command and files, and the command with a stand-in engine."""

from __future__ import annotations

import json
import re
import stat
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from evaluation.benchmarks.__main__ import measure
from evaluation.benchmarks.engine import Benchmark, command, read_score
from evaluation.benchmarks.table import benchmark_row
from evaluation.pattern_eval.published import benchmark_rows
from foundation.settings.compose import CONFIG_DIR, ConfigError, compose_config

FOLDER = CONFIG_DIR / "evaluation"
URL = "model.servers.nt.base_urls=[http://127.0.0.1:9/v1]"


def shipped() -> list[Benchmark]:
    config = compose_config(["model=toy", "engine.python=python"], FOLDER, "benchmarks")
    return [Benchmark(str(name), **entry) for name, entry in config.benchmarks.items()]


def test_averages_are_those_of_the_paper():
    """Paper, Table 6: family averages, and overall as the mean of the ten."""
    for row in benchmark_rows():
        found = benchmark_row(row.size, row.policy, row.benchmarks, shipped())
        assert list(found.benchmarks) == list(row.benchmarks)
        for group, value in row.averages.items():
            assert found.averages[group] == pytest.approx(value, abs=0.00501)
        assert found.overall == pytest.approx(row.overall, abs=0.00501)


def test_an_average_over_fewer_is_refused():
    scores = dict(benchmark_rows()[0].benchmarks)
    del scores["AI2D"]
    with pytest.raises(ValueError, match="no score of AI2D"):
        benchmark_row("4B", "nt", scores, shipped())


def test_the_command_line_of_the_engine():
    line = command("py", shipped()[6], model="m", base_url="http://h:1/v1", concurrency=8, limit=5, out=Path("out"))
    assert line[:3] == ["py", "-m", "lmms_eval"]
    assert line[line.index("--tasks") + 1] == "ai2d"
    assert line[line.index("--model_args") + 1] == "model_version=m,base_url=http://h:1/v1,num_cpus=8"
    assert line[line.index("--limit") + 1] == "5"


def write_result(out: Path, task: str, figures: dict[str, Any], date: str = "20260101_000000") -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{date}_results.json").write_text(json.dumps({"results": {task: figures}}))


def test_a_score_is_the_newest_figure_of_its_metric(tmp_path: Path):
    ai2d = shipped()[6]
    assert read_score(ai2d, tmp_path) is None
    write_result(tmp_path / "m", "ai2d", {"exact_match,flexible-extract": 0.5})
    write_result(tmp_path / "m", "ai2d", {"alias": "ai2d", "exact_match,none": 0.8919}, "20260202_000000")
    assert read_score(ai2d, tmp_path) == pytest.approx(89.19)


def test_a_metric_that_is_not_there_is_named(tmp_path: Path):
    write_result(tmp_path, "ai2d", {"other,none": 0.5})
    with pytest.raises(ValueError, match=re.escape("has no figure 'exact_match' but other")):
        read_score(shipped()[6], tmp_path)


ENGINE = """#!{python}
import json, os, pathlib, sys
given = dict(zip(sys.argv[1:], sys.argv[2:]))
task, out = given["--tasks"], pathlib.Path(given["--output_path"]) / "model"
assert os.environ["OPENAI_API_KEY"] == "EMPTY"
with open({log!r}, "a") as log:
    log.write(task + "\\n")
if task == {fails!r}:
    sys.exit("no such data set")
out.mkdir(parents=True)
metric = json.loads({metrics!r})[task]
(out / "20260101_000000_results.json").write_text(json.dumps({{"results": {{task: {{metric + ",none": 0.5}}}}}}))
"""


def engine(folder: Path, fails: str = "") -> Path:
    """A program that takes lmms-eval's arguments and leaves a result file."""
    path = folder / "engine"
    metrics = json.dumps({benchmark.task: benchmark.metric for benchmark in shipped()})
    path.write_text(ENGINE.format(python=sys.executable, log=str(folder / "asked"), fails=fails, metrics=metrics))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def compose(folder: Path, *more: str) -> Any:
    served = ("model=toy", "model.template_switch=false", "model.request.t.x=1", "model.servers.nt.serve=null", URL)
    given = (*served, f"engine.python={folder / 'engine'}", f"run.dir={folder / 'out'}", *more)
    return compose_config([f"+{o}" if o.startswith("model.request.t.x") else o for o in given], FOLDER, "benchmarks")


@pytest.mark.integration
def test_what_is_done_is_not_run_again(tmp_path: Path):
    engine(tmp_path, fails="ai2d")
    with pytest.raises(RuntimeError, match=r"(?s)lmms-eval ended with code 1; .*no such data set"):
        measure(compose(tmp_path), Console(file=StringIO()))
    asked = (tmp_path / "asked").read_text().split()
    assert asked[-1] == "ai2d" and len(asked) == 7
    engine(tmp_path)
    out = StringIO()
    row = measure(compose(tmp_path), Console(file=out, width=200))
    assert (tmp_path / "asked").read_text().split()[7:] == ["ai2d", "chartqa", "docvqa_val", "infovqa_val"]
    assert (row.overall, row.averages["logic"]) == (50.0, 50.0)
    assert "8B PatternRL" in out.getvalue()
    assert json.loads((tmp_path / "out" / "benchmarks.json").read_text())["overall"] == 50.0


def test_an_engine_that_is_missing_is_named(tmp_path: Path):
    with pytest.raises(RuntimeError, match=r"engine\.python=.* cannot be run"):
        measure(compose(tmp_path), Console(file=StringIO()))


def test_a_mode_that_the_engine_cannot_send_is_refused(tmp_path: Path):
    engine(tmp_path)
    config = compose_config(
        ["model=toy", "model.servers.nt.serve=null", URL, "engine.python=x", f"run.dir={tmp_path}"],
        FOLDER,
        "benchmarks",
    )
    with pytest.raises(ValueError, match=r"--default-chat-template-kwargs '\{\"enable_thinking\": false\}'"):
        measure(config, Console(file=StringIO()))


def test_wrong_model_settings_are_named(tmp_path: Path):
    with pytest.raises(ConfigError, match="is not a known model family"):
        measure(compose(tmp_path, "model.family=qwen9"), Console(file=StringIO()))
