"""The sampled rollouts that a tracker shows: prompt, image, visible response, verdict, labels, reward."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from foundation.runs.scored_rollout import ScoredRollout


class RolloutTable:
    """Some rollouts of a step, each with the first image of its prompt; the same ones for the same seed.

    Args:
        prompts: the training prompts (verl's `RLHFDataset.dataframe`): `prompts["extra_info"]` gives a column whose
            entries hold `index` (our group), `prompts[row]` a row.
        image_key: column of a prompt's images.
        rows: how many rollouts a table shows at most.
    """

    def __init__(self, prompts: Any, *, image_key: str, rows: int, seed: int) -> None:
        self._prompts = prompts
        self._row_of = {int(info["index"]): row for row, info in enumerate(prompts["extra_info"])}
        self._image_key = image_key
        self._rows = rows
        self._seed = seed

    def sample(self, records: Sequence[ScoredRollout], step: int) -> list[dict[str, Any]]:
        """The table of one step from its records."""
        n = min(self._rows, len(records))
        sample = random.Random(f"{self._seed}:{step}").sample(list(records), n)  # noqa: S311 - no secret
        return [
            {
                "step": record.step,
                "image": self._image_of(record.group),
                "prompt": record.question,
                "reference": record.reference,
                "visible": record.visible,
                "verdict": f"{record.verdict.value} ({record.verdict.stage}: {record.verdict.reason})",
                "labels": json.dumps(None if record.labels is None else asdict(record.labels)),
                "z": record.z,
                "reward": record.reward,
            }
            for record in sample
        ]

    def _image_of(self, group: int) -> bytes | None:
        """First image of a prompt, as encoded bytes; None for text prompts and for images given by path."""
        images = self._prompts[self._row_of[group]].get(self._image_key) or []
        first = images[0] if images else None
        return first.get("bytes") if isinstance(first, dict) else None
