"""The labels of the toy world: those that its generator writes, its oracle sees and its PatternRM was trained on."""

from __future__ import annotations

from foundation.labels import LABELS


def vector(*, cot: bool, rep: bool, con: bool, pr: bool) -> dict[str, bool]:
    """A label vector of a toy response; a label that the toy world does not know is absent: it never writes one."""
    return {**dict.fromkeys(LABELS, False), "cot": cot, "rep": rep, "con": con, "pr": pr}
