"""Save a W&B workspace for the runs of this project: its sections of panels, runs of different seeds grouped.

    python -m launch.wandb_workspace --entity my-team --project patternrl
    python -m launch.wandb_workspace --entity my-team --project patternrl --vary reward_mix.weights.cot reward_mix.cap
    python -m launch.wandb_workspace --entity my-team --project patternrl --dry-run      # the definition as JSON

Needs the extra `wandb` and WANDB_API_KEY. Every call saves a new workspace and prints its address; others that the
project has stay as they are. What it shows is in `launch.wandb_sections`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from omegaconf import OmegaConf

from foundation.settings.compose import ConfigError, compose_config
from foundation.settings.terminal import refuse
from launch.wandb_sections import VARIED, Curves, Panel, Scatter, sections
from trainer.frame.tracking.wandb_tracker import has_key

SHOWN = 50
"""Runs, or groups of runs, that a panel draws at once; W&B's own ten are fewer than the arms of a sweep."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Save the workspace or print it. Exit codes: 0, 2 something is missing or wrong, 1 W&B refused it."""
    parser = argparse.ArgumentParser(prog="python -m launch.wandb_workspace", description="Save a W&B workspace.")
    parser.add_argument("--entity", required=True, help="user or team (tracking.entity)")
    parser.add_argument("--project", required=True, help="tracking.project of the runs")
    parser.add_argument("--name", default="PatternRL", help="name of the workspace")
    parser.add_argument(
        "--vary", nargs="+", default=list(VARIED), metavar="KEY", help="settings that the runs of the sweep differ in"
    )
    parser.add_argument("--dry-run", action="store_true", help="print what would be saved; no network, no key")
    parsed = parser.parse_args(sys.argv[1:] if arguments is None else list(arguments))
    try:
        check_settings(parsed.vary)
        workspace = build(parsed.entity, parsed.project, parsed.name, parsed.vary)
        if parsed.dry_run:
            print(json.dumps(definition(workspace), indent=2))
            return 0
        if not has_key():
            raise ConfigError(
                ["WANDB_API_KEY is not set: export it (its page is https://wandb.ai/authorize), or use --dry-run"]
            )
    except ConfigError as error:
        return refuse(error.problems, "nothing was saved")
    try:
        workspace.save()
    except Exception as error:  # noqa: BLE001 - W&B raises many types for network, rights and names
        print(
            f"error: W&B did not save the workspace: {type(error).__name__}: {error}. Check that "
            f"{parsed.entity}/{parsed.project} exists and that the key may write there",
            file=sys.stderr,
        )
        return 1
    print(workspace.url)
    return 0


def check_settings(varied: Sequence[str]) -> None:
    """Whether these are keys of a run's configuration.

    Raises:
        ConfigError: one line for each that is not.
    """
    config = compose_config(["dry_run=true"])
    unknown = [key for key in varied if OmegaConf.select(config, key) is None]
    if unknown:
        raise ConfigError([f"--vary {key}: no such setting; write it as on a run's command line" for key in unknown])


def build(entity: str, project: str, name: str, varied: Sequence[str]) -> Any:
    """The workspace as an object of wandb-workspaces.

    Raises:
        ConfigError: wandb-workspaces is not installed.
    """
    try:
        import wandb_workspaces.reports.v2 as reports
        import wandb_workspaces.workspaces as workspaces
    except ImportError as error:
        raise ConfigError([f"{error}: install the extra `wandb`: pip install -e '.[wandb]'"]) from error
    return workspaces.Workspace(
        entity=entity,
        project=project,
        name=name,
        sections=[
            workspaces.Section(
                name=section.title, panels=[_draw(panel, reports) for panel in section.panels], is_open=True
            )
            for section in sections(varied)
        ],
        settings=workspaces.WorkspaceSettings(max_runs=SHOWN),
        runset_settings=workspaces.RunsetSettings(groupby=[workspaces.Config(key) for key in varied]),
    )


def definition(workspace: Any) -> dict[str, Any]:
    """What `save` sends to W&B (wandb-workspaces 0.4.13, workspaces/internal.py:133)."""
    view = workspace._to_model()
    spec = json.loads(view.spec.model_dump_json(by_alias=True, exclude_none=True))
    return {"entity": view.entity, "project": view.project, "name": view.display_name, "spec": spec}


def _draw(panel: Panel, reports: Any) -> Any:
    """A panel as an object of wandb-workspaces; settings are grouped by the workspace, not by each panel."""
    if isinstance(panel, Curves):
        return reports.LinePlot(
            title=panel.title,
            x=panel.over or "Step",
            y=list(panel.metrics),
            plot_type="stacked-area" if panel.stacked else "line",
        )
    if isinstance(panel, Scatter):
        x, y = reports.SummaryMetric(panel.x), reports.SummaryMetric(panel.y)
        return reports.ScatterPlot(title=panel.title, x=x, y=y)
    columns = [
        *(reports.ParallelCoordinatesPlotColumn(reports.Config(key), display_name=key) for key in panel.settings),
        *(reports.ParallelCoordinatesPlotColumn(reports.SummaryMetric(name)) for name in panel.metrics),
    ]
    return reports.ParallelCoordinatesPlot(title=panel.title, columns=columns)


if __name__ == "__main__":
    sys.exit(main())
