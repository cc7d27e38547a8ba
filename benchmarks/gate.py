"""How much noise the Bernoulli gate of the pattern penalty puts into GRPO's advantages, and what `scope: group` keeps.

    python -m benchmarks.gate --simulate [--accuracy 0.6] [--rates 0.34 0.44 0.14 0.21]
    python -m benchmarks.gate --records outputs/<run>/records/train.jsonl

Exact over all draws of z for the verdicts and labels of each group, for every probability, size and scope. `noise` is
the variance of an advantage over draws of z; `signal` the square of its mean; both are means over rollouts.
`contrast` is the mean advantage of clean right rollouts minus that of right ones with a pattern, in groups that have
both; `cosine` compares mean advantages with those of the ungated penalty probability * penalty.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.gate_groups import draw_groups, read_groups, resized
from benchmarks.gate_noise import KINDS, Group, gate_effect, gate_only_variance, kind_of
from foundation.labels import LABELS
from reward_workers.gate import Scope

SCOPES: tuple[Scope, ...] = ("rollout", "group")
BASE_RL_4B = {"cot": 0.3383, "rep": 0.4377, "con": 0.1383, "pr": 0.2099}
"""Label rates of BaseRL 4B (published Table 5): what PatternRL would have to remove."""
NOISY = KINDS[2:]
"""Kinds of groups in which the gate can move a reward."""
console = Console(highlight=False)


def study(groups: Sequence[Group], probability: float, scope: Scope) -> dict[str, Any]:
    """Figures of one setting over all groups."""
    effects = [(kind_of(group), group, gate_effect(group, probability, scope)) for group in groups]
    mean = np.concatenate([effect.mean for _, _, effect in effects])
    variance = np.concatenate([effect.variance for _, _, effect in effects])
    ungated = np.concatenate([effect.ungated for _, _, effect in effects])
    contrasts = [
        np.mean([m for m, q in zip(effect.mean, group, strict=True) if q == 0])
        - np.mean([m for m, q in zip(effect.mean, group, strict=True) if q])
        for _, group, effect in effects
        if 0 in group and any(group)
    ]
    lengths = float(np.linalg.norm(mean) * np.linalg.norm(ungated))
    return {
        "probability": probability,
        "scope": scope,
        "size": len(groups[0]),
        "noise": float(variance.mean()),
        "signal": float(np.mean(mean**2)),
        "noise_by_kind": {
            kind: float(np.mean([effect.variance for k, _, effect in effects if k == kind]))
            for kind in NOISY
            if any(k == kind for k, _, _ in effects)
        },
        "contrast": float(np.mean(contrasts)) if contrasts else None,
        "cosine": float(mean @ ungated) / lengths if lengths else None,
        "zero_variance": float(np.mean([effect.zero_variance for _, _, effect in effects])),
        "gate_only_variance": float(np.mean([gate_only_variance(group, probability, scope) for group in groups])),
    }


def shares_of_kinds(groups: Sequence[Group]) -> dict[str, float]:
    """How common each kind of group is."""
    counts = Counter(map(kind_of, groups))
    return {kind: counts[kind] / len(groups) for kind in KINDS}


def tables(rows: Sequence[Mapping[str, Any]]) -> tuple[Table, Table]:
    """The noise by kind of group; what is left of the signal, and which groups teach nothing or noise only."""
    noise = _table("variance of an advantage over draws of z", "all groups", *NOISY, "noise / (noise + signal)")
    kept = _table("what the gate keeps", "signal", "contrast", "cosine", "zero variance", "gate-only variance")
    for row in rows:
        setting = str(row["size"]), f"{row['probability']:g}", row["scope"]
        by_kind = (row["noise_by_kind"].get(kind) for kind in NOISY)
        whole = row["noise"] + row["signal"]
        noise.add_row(*setting, *map(_shown, (row["noise"], *by_kind)), f"{row['noise'] / whole:.1%}" if whole else "-")
        figures = (_shown(row[key]) for key in ("signal", "contrast", "cosine"))
        kept.add_row(*setting, *figures, f"{row['zero_variance']:.1%}", f"{row['gate_only_variance']:.1%}")
    return noise, kept


def _table(title: str, *columns: str) -> Table:
    made = Table(title=title)
    for column in ("n", "p", "scope", *columns):
        made.add_column(column, justify="left" if column == "scope" else "right", overflow="fold")
    return made


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def draw_plot(path: Path, rows: Sequence[Mapping[str, Any]], title: str) -> None:
    """Noise by kind of group, noise against signal, and the shares of groups that teach nothing or noise only."""
    figure, (kinds, power, shares) = plt.subplots(1, 3, figsize=(16, 5), layout="constrained")
    figure.suptitle(title)
    size = max(row["size"] for row in rows)
    chosen = [row for row in rows if row["size"] == size]
    places = np.arange(len(chosen))
    names = [f"p={row['probability']:g}\n{row['scope']}" for row in chosen]
    width = 0.8 / len(NOISY)
    for number, (kind, colour) in enumerate(zip(NOISY, ("tab:red", "tab:orange", "tab:blue"), strict=True)):
        values = [row["noise_by_kind"].get(kind, 0.0) for row in chosen]
        kinds.bar(places + (number - 1) * width, values, width, label=kind, color=colour)
    kinds.set(title=f"variance of an advantage over draws of z (n = {size})")
    power.bar(places, [row["signal"] for row in chosen], 0.6, label="signal: square of the mean", color="tab:green")
    bottom = [row["signal"] for row in chosen]
    power.bar(places, [row["noise"] for row in chosen], 0.6, bottom, label="noise: variance", color="tab:red")
    power.set(title=f"mean square of an advantage, all groups (n = {size})")
    for key, label, colour in (
        ("zero_variance", "all rewards equal", "tab:gray"),
        ("gate_only_variance", "rewards differ by z alone", "tab:red"),
    ):
        offset = -0.2 if key == "zero_variance" else 0.2
        shares.bar(places + offset, [row[key] for row in chosen], 0.4, label=label, color=colour)
    shares.set(title=f"share of groups (n = {size})")
    for panel in (kinds, power, shares):
        panel.set_xticks(places, names, fontsize=8)
        panel.grid(axis="y", alpha=0.3)
        panel.set_ylim(0, max(0.1, 1.25 * panel.dataLim.y1))  # room for the legend
        panel.legend(fontsize=8, loc="upper right")
        panel.set_axisbelow(True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--records", type=Path, help="records/train.jsonl of a run")
    source.add_argument("--simulate", action="store_true", help="draw groups from the rates below")
    parser.add_argument("--groups", type=int, default=1000, help="simulated groups")
    parser.add_argument("--accuracy", type=float, default=0.6, help="mean accuracy over simulated prompts")
    rates = [BASE_RL_4B.get(label, 0.0) for label in LABELS]  # one that the paper has not must be given
    parser.add_argument(
        "--rates", type=float, nargs=len(LABELS), default=rates, metavar=LABELS, help="mean label rates"
    )
    parser.add_argument("--concentration", type=float, default=1.0, help="small: rollouts of a prompt are alike")
    parser.add_argument("--probabilities", type=float, nargs="+", default=[0.3, 0.6, 1.0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[8, 16], help="rollouts a group")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="also write all figures to this JSON file")
    parser.add_argument("--plot", type=Path, help="also draw them into this PNG file")
    options = parser.parse_args()
    _check(parser, options)
    rows: list[dict[str, Any]] = []
    kinds: dict[int, dict[str, float]] = {}
    recorded = None
    if options.records:
        try:
            recorded = read_groups(options.records, options.seed)
        except ValueError as error:
            parser.error(str(error))
        console.print(
            f"{len(recorded.groups):,} groups of {options.records}; labels of {recorded.imputed:.1%} of the right "
            "rollouts were unknown and drawn from labelled ones",
            soft_wrap=True,
        )
    for size in options.sizes:
        if recorded is not None:
            groups = resized(recorded.groups, size, options.seed)
        else:
            groups = draw_groups(
                options.groups,
                size,
                accuracy=options.accuracy,
                rates=dict(zip(LABELS, options.rates, strict=True)),
                concentration=options.concentration,
                seed=options.seed,
            )
        kinds[size] = shares_of_kinds(groups)
        console.print(f"n = {size}: " + ", ".join(f"{kind} {share:.1%}" for kind, share in kinds[size].items()))
        rows += [study(groups, probability, scope) for probability in options.probabilities for scope in SCOPES]
    for table in tables(rows):
        console.print(table)
    if options.out:
        settings = {key: str(value) if isinstance(value, Path) else value for key, value in vars(options).items()}
        options.out.write_text(json.dumps({"settings": settings, "kinds": kinds, "rows": rows}, indent=2) + "\n")
    if options.plot:
        what = options.records.name if options.records else f"simulated, accuracy {options.accuracy:g}"
        draw_plot(options.plot, rows, f"The gate of the pattern penalty and GRPO's advantages ({what})")


def _check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Refuse values out of range, with exit code 2."""
    shares = [("--accuracy", options.accuracy), *(("--rates", rate) for rate in options.rates)]
    for name, value in shares:
        if not 0.0 < value < 1.0:
            parser.error(f"{name} {value:g}: set a rate between 0 and 1, exclusive")
    for value in options.probabilities:
        if not 0.0 <= value <= 1.0:
            parser.error(f"--probabilities {value:g}: set probabilities in 0..1")
    if min(options.sizes) < 2:
        parser.error(f"--sizes {min(options.sizes)}: a group has two rollouts at least")
    if options.groups < 1 or options.concentration <= 0:
        parser.error("--groups must be at least 1 and --concentration above 0")


if __name__ == "__main__":
    main()
