"""The paper's own results as a result set: Tables 1, 3, 5, 6 and 7, in the types that measured results have.

Published rates have no denominators, so that they carry no intervals. What could not be read in the source is None,
and so is the rate of a label that the paper does not have.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from foundation.responses.families import MODES
from foundation.runs.mode_rates import MEASURES, Pair, Row
from foundation.runs.statistics import Difference, Rate

SOURCE = "published"


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """A row of Table 5: PatternEval after RL. `gap`: Trigger above that of the thinking reference, in points."""

    size: str
    policy: str
    rates: Mapping[str, float]
    families: Mapping[str, float]
    gap: float | None


@dataclass(frozen=True, slots=True)
class BenchmarkRow:
    """A row of Table 6: accuracy on ten general benchmarks, family averages, and the mean of the ten."""

    size: str
    policy: str
    benchmarks: Mapping[str, float]
    averages: Mapping[str, float]
    overall: float


@cache
def _data() -> dict[str, Any]:
    text = files("evaluation.pattern_eval").joinpath("published.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def source() -> str:
    """Where the figures were published."""
    return str(_data()["source"])


def composition() -> dict[str, dict[str, int]]:
    """Prompts by family and category (Table 1; Table 7's percentages fit counts that differ by one in four cells)."""
    found: dict[str, dict[str, int]] = _data()["composition"]
    return found


def published_rows() -> list[Row]:
    """Tables 3 and 7: 25 models in two modes."""
    return [
        Row(
            entry["model"],
            mode,
            rates=_rates({**dict.fromkeys(MEASURES), **entry["modes"][mode]["rates"]}),
            families=_rates(entry["modes"][mode]["families"]),
            categories=_rates(entry["modes"][mode]["categories"]),
            counts={},
            flags={},
            source=SOURCE,
        )
        for entry in _data()["models"]
        for mode in MODES
    ]


def published_pairs() -> list[Pair]:
    """The differences of the 25 models, computed from their rates."""
    pairs = []
    for entry in _data()["models"]:
        nt, t = (entry["modes"][mode]["rates"] for mode in MODES)
        d_acc, d_pat = round(t["acc"] - nt["acc"], 2), round(nt["trigger"] - t["trigger"], 2)
        pairs.append(Pair(entry["model"], Difference(d_acc), Difference(d_pat), source=SOURCE))
    return pairs


def printed_differences() -> dict[str, tuple[float, float]]:
    """D_acc and D_pat as printed in Table 3, by model."""
    return {entry["model"]: (entry["d_acc"], entry["d_pat"]) for entry in _data()["models"]}


def policy_rows() -> list[PolicyRow]:
    """Table 5, in its order."""
    return [
        PolicyRow(
            entry["size"],
            entry["policy"],
            rates={measure: entry[measure] for measure in MEASURES if measure in entry},
            families={family: entry[family.lower()] for family in ("VG", "OS", "KR")},
            gap=entry["gap"],
        )
        for entry in _data()["table5"]
    ]


def benchmark_rows() -> list[BenchmarkRow]:
    """Table 6, in its order."""
    return [BenchmarkRow(**entry) for entry in _data()["table6"]]


def _rates(values: Mapping[str, float | None]) -> dict[str, Rate]:
    return {name: Rate(value) for name, value in values.items()}
