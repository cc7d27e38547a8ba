"""A small valid corpus and model folders, so that a whole configuration can be checked without the shipped assets."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf, open_dict

from foundation.settings.compose import compose_config, config_groups

GROUPS = frozenset(config_groups())


def make_row(index: int) -> dict[str, Any]:
    """A row as the corpora write it."""
    return {
        "data_source": "toy",
        "prompt": [{"role": "user", "content": "<image>How many red cells?"}],
        "images": [{"bytes": b"png", "path": None}],
        "ability": "perception",
        "reward_model": {"style": "rule", "ground_truth": "3"},
        "extra_info": {
            "index": index,
            "prompt_id": f"toy-{index}",
            "split": "train",
            "question": "How many red cells?",
        },
    }


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    pq.write_table(pa.Table.from_pylist(rows, schema=pa.Table.from_pylist([make_row(0)]).schema), path)
    return path


@lru_cache(maxsize=8)
def _composed(groups: tuple[str, ...]) -> DictConfig:
    return compose_config(groups)


@pytest.fixture
def tree() -> Callable[[Sequence[str]], DictConfig]:
    """Composes a tree as `compose_config` does, each choice of groups once: composition is most of a test's time.

    Overrides of existing keys, `+key=value` and `~key` are applied to a copy.
    """

    def compose_copy(overrides: Sequence[str] = ()) -> DictConfig:
        groups = tuple(text for text in overrides if "." not in text.split("=")[0] and text.split("=")[0] in GROUPS)
        config = copy.deepcopy(_composed(groups))
        for override in OverridesParser.create().parse_overrides([text for text in overrides if text not in groups]):
            key = override.key_or_group
            if override.is_delete():
                parent, _, leaf = key.rpartition(".")
                with open_dict(config):
                    del OmegaConf.select(config, parent)[leaf]
            else:
                OmegaConf.update(config, key, override.value(), force_add=override.is_add(), merge=True)
        return config

    return compose_copy


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    return [make_row(index) for index in range(32)]


@pytest.fixture
def good_inputs(tmp_path: Path, rows: list[dict[str, Any]]) -> list[str]:
    """Overrides that point a quickstart at inputs which pass every check."""
    for name in ("policy", "answer_judge", "pattern_rm"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        (folder / "model.safetensors").write_bytes(b"")
    write_rows(tmp_path / "train.parquet", rows)
    write_rows(tmp_path / "heldout.parquet", rows)
    return [
        f"policy.path={tmp_path / 'policy'}",
        f"judges.fallback.serve.model_path={tmp_path / 'answer_judge'}",
        f"judges.pattern_rm.serve.model_path={tmp_path / 'pattern_rm'}",
        f"corpus.train_files={tmp_path / 'train.parquet'}",
        f"corpus.val_files={tmp_path / 'heldout.parquet'}",
        f"run.dir={tmp_path / 'run'}",
    ]
