"""The points of a sweep: a name for each, made of what varies, and a folder of its own."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

from hydra.core.override_parser.overrides_parser import OverridesParser

from foundation.settings.compose import ConfigError

LONGEST = 100
"""Characters of a name; what is longer ends in a hash."""


def fixed_keys(command_line: Sequence[str]) -> set[str]:
    """The keys that a command line sets to the same value in every point."""
    parsed = OverridesParser.create().parse_overrides(list(command_line))
    return {
        key_of(text) for text, override in zip(command_line, parsed, strict=True) if not override.is_sweep_override()
    }


def varied(point: Sequence[str], fixed: set[str]) -> dict[str, str]:
    """What a point sets itself: key -> value, in the order of the command line.

    >>> varied(["experiment=quickstart", "reward_mix.weights.cot=0.1", "seed=0"], {"experiment"})
    {'reward_mix.weights.cot': '0.1', 'seed': '0'}
    """
    return {key_of(text): text.partition("=")[2] for text in point if key_of(text) not in fixed}


def key_of(override: str) -> str:
    """The key of an override; sweepers write its value anew, but not its key.

    >>> key_of("+judges.fallback.serve.env.A=b")
    'judges.fallback.serve.env.A'
    """
    return override.partition("=")[0].lstrip("+~")


def point_name(values: dict[str, str]) -> str:
    """A name that can be a folder, from what a point sets itself.

    >>> point_name({"reward_mix.weights.cot": "0.1", "reward_mix": "base_rl", "seed": "0"})
    'cot_0.1-reward_mix_base_rl-seed_0'
    """
    last = Counter(key.rpartition(".")[2] for key in values)
    parts = []
    for key, value in values.items():
        leaf = key.rpartition(".")[2]
        parts.append(f"{leaf if last[leaf] == 1 else key}_{value}")
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", "-".join(parts)).strip("_.-") or "point"
    if len(name) > LONGEST:
        digest = hashlib.sha256(name.encode()).hexdigest()[:8]
        name = f"{name[: LONGEST - 9]}-{digest}"
    return name


def check_folders(folders: Sequence[tuple[str, str]]) -> None:
    """Each point needs a folder of its own, or it would go on from the checkpoints of another.

    Args:
        folders: (what the point sets, its folder) of each point.

    Raises:
        ConfigError: two points have one folder.
    """
    first: dict[str, str] = {}
    problems = []
    for values, folder in folders:
        if folder in first:
            problems.append(
                f"run.dir={folder} is the folder of two points ({first[folder]} and {values}): leave run.name and "
                "run.dir to the sweep, or name in them every key that varies"
            )
        first.setdefault(folder, values)
    if problems:
        raise ConfigError(problems)
