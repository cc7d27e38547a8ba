"""The W&B workspace: panels over metrics that runs log, and what is sent to a server that stands in for W&B's."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from factories import judge_call, labelled, ruled, scored

from foundation.labels import LABELS
from foundation.responses.families import MODES
from foundation.runs.paired_figures import METRIC_NAMES
from foundation.runs.records import Verdict
from foundation.runs.scored_rollout import ScoredRollout
from foundation.runs.step_metrics import reward_metrics
from foundation.runs.summary import PHASES
from launch import wandb_workspace
from launch.wandb_sections import VARIED, Parallel, metrics_of, sections
from trainer.frame.tracking.wandb_tracker import TRADE_OFFS

WHERE = ("--entity", "team", "--project", "p")


def record(stage: str, rollout: int) -> ScoredRollout:
    """A rollout of a group that asked both judges and has both kinds of labels."""
    labels = labelled("cot", latency_s=0.1)
    return scored(
        verdict=Verdict(rollout % 2, stage, "", latency_s=0.1),
        rollout=rollout,
        reward=1.0,
        labels=labels,
        rule_labels=ruled(),
        charged=labels.decided,
        penalty=0.05,
        judge_calls=(judge_call("fallback"), judge_call("pattern_rm")),
    )


def test_every_panel_shows_metrics_that_runs_log():
    names = reward_metrics([record(stage, i) for i, stage in enumerate(("exact", "typed", "symbolic", "judge"))])
    logged = {f"{prefix}/{name}" for prefix in ("reward_mix", "heldout") for name in names}
    logged |= {f"timing_s/{phase}" for phase in (*PHASES.values(), "step")} | set(TRADE_OFFS)
    logged |= {f"pattern_eval/{mode}/{name}" for mode in MODES for name in METRIC_NAMES.values()}
    shown = {section.title: set().union(*map(metrics_of, section.panels)) for section in sections()}
    assert list(shown) == [
        "Reward components",
        "Accuracy against Trigger",
        "Label rates",
        "Judges",
        "Time by phase",
        "Sweep",
    ]
    assert set().union(*shown.values()) - logged == set()
    assert {f"reward_mix/label/{label}" for label in LABELS} < shown["Label rates"]
    assert {"reward_mix/calls/pattern_rm_saved", "reward_mix/unscored"} < shown["Judges"]
    assert {f"timing_s/{phase}" for phase in PHASES.values()} < shown["Time by phase"]


def test_the_settings_that_a_sweep_varies_are_its_axes():
    wandb_workspace.check_settings(VARIED)
    (section,) = [section for section in sections(["reward_mix.cap"]) if section.title == "Sweep"]
    for panel in section.panels:
        assert isinstance(panel, Parallel)
        assert panel.settings == ("reward_mix.cap",)


def test_an_unknown_setting_is_refused(capsys):
    assert wandb_workspace.main([*WHERE, "--vary", "reward_mix.cap", "reward_mix.weight.cot"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: --vary reward_mix.weight.cot: no such setting")
    assert error.endswith("nothing was saved\n")


def test_without_the_extra_it_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "wandb_workspaces", None)  # import raises ImportError
    assert wandb_workspace.main([*WHERE, "--dry-run"]) == 2
    assert "install the extra `wandb`: pip install -e '.[wandb]'" in capsys.readouterr().err


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """The extra, and nobody's key."""
    pytest.importorskip("wandb_workspaces", reason="the extra `wandb` is not installed")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("WANDB_API_KEY", raising=False)


@pytest.mark.integration
def test_a_dry_run_prints_the_definition_and_needs_no_key(installed, capsys):
    assert wandb_workspace.main([*WHERE, "--dry-run"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["entity"], found["project"], found["name"]) == ("team", "p", "PatternRL")
    check_spec(found["spec"])


def check_spec(spec: dict) -> None:
    """Sections, panels and grouping as W&B reads them."""
    drawn = {
        section["name"]: [panel["config"] for panel in section["panels"]]
        for section in spec["section"]["panelBankConfig"]["sections"]
    }
    assert {name: len(panels) for name, panels in drawn.items()} == {s.title: len(s.panels) for s in sections()}
    time, scatter = drawn["Time by phase"][0], drawn["Accuracy against Trigger"][0]
    assert time["plotType"] == "stacked-area"
    assert time["metrics"] == [f"timing_s/{phase}" for phase in PHASES.values()]
    assert (scatter["xAxis"], scatter["yAxis"]) == ("summary:heldout/trigger", "summary:heldout/accuracy")
    axes = [column["accessor"] for column in drawn["Sweep"][0]["columns"]]
    assert axes[1] == "config:reward_mix.value.weights.cot"  # W&B keeps a value below the first part of its key
    assert axes[len(VARIED)] == "summary:heldout/accuracy"
    (runs,) = spec["section"]["runSets"]
    assert [key["name"].replace(".value", "", 1) for key in runs["grouping"]] == list(VARIED)


@pytest.mark.integration
def test_without_a_key_nothing_is_saved(installed, capsys):
    assert wandb_workspace.main(WHERE) == 2
    assert "WANDB_API_KEY is not set" in capsys.readouterr().err


@pytest.mark.integration
@pytest.mark.parametrize("refused", [False, True])
def test_what_is_saved_is_the_definition(installed, monkeypatch, capsys, refused):
    with wandb_server(refused) as (address, sent):
        monkeypatch.setenv("WANDB_BASE_URL", address)
        monkeypatch.setenv("WANDB_API_KEY", "a" * 40)
        code = wandb_workspace.main([*WHERE, "--name", "mine"])
    (view,) = sent[:1]
    assert (view["entityName"], view["projectName"], view["displayName"]) == ("team", "p", "mine")
    check_spec(json.loads(view["spec"]))
    told = capsys.readouterr()
    assert "a" * 40 not in told.out + told.err
    if refused:
        assert code == 1 and "permission denied" in told.err
    else:
        assert code == 0 and told.out.startswith(f"{address}/team/p?nw=")


@contextmanager
def wandb_server(refused: bool) -> Iterator[tuple[str, list[dict]]]:
    """Answers the two GraphQL requests of a save; the variables of those that save a view."""
    sent: list[dict] = []
    viewer = {"id": "1", "entity": "team", "username": "me", "email": "", "flags": "{}", "teams": {"edges": []}}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
            answer: dict = {"data": {}}
            if "upsertView" in request.get("query", ""):
                sent.append(request["variables"])
                view = {"id": "2", "name": request["variables"]["name"]}
                answer = {"data": {"upsertView": {"view": view, "inserted": True}}}
                if refused:
                    answer = {"data": None, "errors": [{"message": "permission denied"}]}
            elif "Viewer" in request.get("query", ""):
                answer = {"data": {"viewer": viewer}}
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Silent."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", sent
    finally:
        server.shutdown()
        server.server_close()
