"""One HTML file with everything in it: tables, and the pictures as data."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from launch.sweeps.report.load import SweepRuns
from launch.sweeps.report.tables import TextTable

TEMPLATES = Path(__file__).parent


def write_html(
    path: Path,
    sweep: SweepRuns,
    n_arms: int,
    sentences: Sequence[str],
    tables: Sequence[TextTable],
    pictures: Sequence[Path],
) -> None:
    """Write the report; names and values are escaped."""
    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
    shown = [{"name": p.stem, "base64": base64.b64encode(p.read_bytes()).decode()} for p in pictures]
    text = environment.get_template("report.html.jinja").render(
        sweep=sweep.sweep,
        runs=len(sweep.runs),
        arms=n_arms,
        left_out=sweep.left_out,
        sentences=sentences,
        tables=tables,
        pictures=shown,
    )
    path.write_text(text, encoding="utf-8")
