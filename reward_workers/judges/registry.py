"""Finds the class that asks with a prompt; the table is `foundation.settings.judge_kinds`.

A new kind of judge is a subclass of :class:`reward_workers.judges.judge.Judge` in a file of its own, its template and
the template's fields in `reward_workers.judges.prompts`, a line of that table, a section of `configs/judge/*.yaml`, and
the term of a reward that asks it (`foundation.settings.asked_judges`).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from foundation.settings.asked_judges import asked_judges
from foundation.settings.judge_kinds import ASKED_BY
from foundation.settings.judges import JudgeSettings
from foundation.settings.sections import RewardMix
from reward_workers.judges.endpoint.cache import JudgeCache
from reward_workers.judges.judge import Judge


def judge_class(prompt: str) -> type[Judge[Any]]:
    """The class that asks with a prompt; its module is imported now."""
    module, _, name = ASKED_BY[prompt].partition(":")
    found: type[Judge[Any]] = getattr(import_module(module), name)
    return found


def judges_of_reward(
    sections: Mapping[str, Any], mix: RewardMix, cache: JudgeCache | None, *, worker: int, workers: int
) -> dict[str, Judge[Any]]:
    """The judges that a reward asks, by their key, for one of its reward workers.

    Args:
        sections: the section `judges` of a checked configuration, resolved.
        cache: shared by all of them.
        worker, workers: which reward worker of how many; the calls that a judge may get are shared among them.
    """
    judges = {}
    for name in asked_judges(mix):
        settings = JudgeSettings.from_config(sections[name], name).share(worker, workers)
        judges[name] = judge_class(settings.prompt).for_reward(settings, mix, cache)
    return judges
