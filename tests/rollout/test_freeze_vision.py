"""The frozen vision tower, on verl's own FSDP2 engine and optimizer, shown by comparing weights."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rollout_workers.freeze_vision import check_engine, freeze_vision_tower
from rollout_workers.upstream import require_verl

ONE_UPDATE = textwrap.dedent(
    """
    import os, sys
    import torch

    torch.set_num_threads(1)
    policy, external_lib, port = sys.argv[1], sys.argv[2] or None, sys.argv[3]
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, RANK="0", WORLD_SIZE="1", LOCAL_RANK="0")
    torch.distributed.init_process_group("gloo")
    from verl.trainer.config import CheckpointConfig
    from verl.workers.config import FSDPEngineConfig, FSDPOptimizerConfig, HFModelConfig
    from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead

    model = HFModelConfig(
        path=policy, external_lib=external_lib, use_remove_padding=False, enable_gradient_checkpointing=False,
        override_config={"attn_implementation": "sdpa"},
    )
    engine = FSDPEngineWithLMHead(
        model, FSDPEngineConfig(strategy="fsdp2", use_torch_compile=False),
        FSDPOptimizerConfig(lr=1e-2, weight_decay=0.1, total_training_steps=1), CheckpointConfig(),
    )
    engine.initialize()
    before = {k: v.full_tensor().clone() for k, v in engine.module.state_dict().items()}
    grid = torch.tensor([[1, 4, 4]])
    ids = torch.tensor([[3, *[model.hf_config.image_token_id] * 4, 4, 100, 101]])
    logits = engine.module(
        input_ids=ids, pixel_values=torch.randn(16, 1536), image_grid_thw=grid,
        mm_token_type_ids=(ids == model.hf_config.image_token_id).int(),
    ).logits
    logits.float().pow(2).mean().backward()
    engine.optimizer_step()
    after = {k: v.full_tensor() for k, v in engine.module.state_dict().items()}
    changed = {k for k in before if not torch.equal(before[k], after[k])}
    in_optimizer = {id(p) for group in engine.optimizer.param_groups for p in group["params"]}
    names = {k for k, p in engine.module.named_parameters() if id(p) in in_optimizer}
    vision = {k for k in before if ".visual." in k}
    print("VISION", len(vision), len(changed & vision), len(names & vision))
    print("OTHER", len(changed - vision), len(names - vision))
    torch.distributed.destroy_process_group()
    """
)


def one_update(policy: Path, external_lib: str, port: int) -> dict[str, list[int]]:
    """One optimizer step in a child process: tensors (vision: all, changed, in the optimizer; other: the last two)."""
    done = subprocess.run(
        [sys.executable, "-c", ONE_UPDATE, str(policy), external_lib, str(port)],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith(("VISION", "OTHER"))]
    return {line[0]: [int(count) for count in line[1:]] for line in lines}


@pytest.mark.integration
@pytest.mark.timeout(300)
def test_setting_keeps_the_vision_tower_and_trains_the_rest(toy_policy: Path, free_port: int) -> None:
    result = one_update(toy_policy, "rollout_workers.freeze_vision_on", free_port)
    n_vision, changed_vision, vision_in_optimizer = result["VISION"]
    assert n_vision > 20
    assert (changed_vision, vision_in_optimizer) == (0, 0)
    changed_other, other_in_optimizer = result["OTHER"]
    assert changed_other > 20
    assert other_in_optimizer > 20


@pytest.mark.integration
@pytest.mark.timeout(300)
def test_without_the_setting_verl_trains_the_vision_tower(toy_policy: Path, free_port: int) -> None:
    result = one_update(toy_policy, "", free_port)
    n_vision, changed_vision, vision_in_optimizer = result["VISION"]
    assert changed_vision > 20
    assert vision_in_optimizer == n_vision


@pytest.mark.integration
def test_upstream_still_ignores_its_own_setting() -> None:
    """When verl reads `freeze_vision_tower` in its FSDP path, this module is to be dropped."""
    import verl

    root = Path(verl.__file__).parent
    readers = [
        path
        for folder in ("workers/engine/fsdp", "workers/engine_workers.py", "utils/fsdp_utils.py")
        for path in ([root / folder] if (root / folder).is_file() else (root / folder).rglob("*.py"))
        if "freeze_vision_tower" in path.read_text(encoding="utf-8")
    ]
    assert readers == []
    assert "freeze_vision_tower" in (root / "workers/config/actor.py").read_text(encoding="utf-8")


@pytest.mark.integration
def test_upstream_engine_has_the_expected_places() -> None:
    from verl.workers.engine.fsdp.transformer_impl import FSDPEngine

    check_engine(FSDPEngine)


def test_engine_that_moved_is_refused() -> None:
    class Moved:
        def _build_model_optimizer(self) -> None:
            return None

    with pytest.raises(RuntimeError, match=r"Moved\._build_model_optimizer no longer contains"):
        check_engine(Moved)


def test_other_verl_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"written for verl 0\.9\.1, and verl 0\.9\.2 is installed"):
        require_verl("0.9.2", "the part")


class Model:
    def __init__(self, *names: str):
        self.parameters = {name: Parameter() for name in names}

    def named_parameters(self) -> Any:
        return self.parameters.items()


class Parameter(SimpleNamespace):
    def __init__(self) -> None:
        super().__init__(requires_grad=True)

    def requires_grad_(self, value: bool) -> None:
        self.requires_grad = value


def test_tower_is_found_by_whole_parts_of_the_name() -> None:
    model = Model(
        "model.visual.blocks.0.weight",
        "base_model.model.model.visual.merger.lora_A.weight",
        "vision_tower.patch.weight",
        "model.visualizer.weight",
        "lm_head.weight",
    )
    assert freeze_vision_tower(model) == 3
    assert [parameter.requires_grad for parameter in model.parameters.values()] == [False, False, False, True, True]


def test_model_without_a_tower_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"policy\.freeze_vision_tower=true, but Model has no parameter"):
        freeze_vision_tower(Model("model.layers.0.weight"))
