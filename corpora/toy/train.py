"""Train the three tiny models of the CPU path from scratch and write them with their card.

    python -m corpora.toy.train --out assets/toy

One thread, deterministic by seed. Finished stages are kept under ``--stages`` and skipped by the next run; ``--only``
trains one model (PatternRM runs the policy's stages too where they are missing: it learns from rollouts of the policy).
``--fast`` runs two percent of the steps: it shows that the command works and gives models that answer nothing.
"""

from __future__ import annotations

import argparse
import copy
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from corpora.toy.streams import stream
from corpora.toy.tokenizer import JUDGE_TEMPLATE, POLICY_TEMPLATE, build_pattern_rm_tokenizer, build_tokenizer
from corpora.toy.training.card import write_card
from corpora.toy.training.drift import DriftSettings, drift
from corpora.toy.training.fast import FastModel
from corpora.toy.training.figures import (
    answer_judge_figures,
    fresh_pairs,
    fresh_questions,
    pattern_rm_figures,
    policy_figures,
    roll_out,
)
from corpora.toy.training.judges import (
    CLAIMS_MIX,
    PATTERN_MIX,
    equivalence_lesson,
    mixed_lessons,
    train_judge,
    written_lesson,
)
from corpora.toy.training.models import build_judge, build_policy, build_processor
from corpora.toy.training.optimize import Budget
from corpora.toy.training.stages import run_stage
from corpora.toy.training.warm_start import STAGES, trainee

FAST_FACTOR = 0.02
MODELS = ("policy", "pattern_rm", "answer_judge")
CLAIMS_BUDGET = Budget(steps=600, batch=48, lr=2e-3)
WRITTEN_BUDGET = Budget(steps=700, batch=48, lr=2e-3)
ROLLOUT_BUDGET = Budget(steps=900, batch=48, lr=2e-3)
VERDICT_BUDGET = Budget(steps=600, batch=96, lr=3e-3)
DRIFTS = (DriftSettings(steps=50, penalty=False), DriftSettings(steps=30, penalty=True))
WARM_START_QUESTIONS = 1536
ROLLOUTS_PER_QUESTION = 4
FIGURE_QUESTIONS = 1024


@dataclass(frozen=True)
class Run:
    """What all stages share."""

    out: Path
    stages: Path
    seed: int
    factor: float

    def budget(self, full: Budget) -> Budget:
        return replace(full, steps=max(2, round(full.steps * self.factor)))

    def count(self, full: int) -> int:
        return max(2, round(full * self.factor))

    def stage(self, name: str, model: Any, full: Budget, train: Callable[[Budget, random.Random], float]) -> float:
        """Run or load one stage with its own random stream."""
        budget = self.budget(full)
        rng = stream(self.seed, name)
        return run_stage(model, self.stages, name, self.seed, budget, lambda: train(budget, rng))


def single_threaded() -> None:
    """One thread (two threads on two busy cores are ten times slower) and no denormals."""
    # numpy warns when it first looks at its float limits with denormals flushed.
    np.finfo(np.float32), np.finfo(np.float64)
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)


def train_policy(run: Run, tokenizer: Any) -> FastModel:
    """The warm-started policy, trained or loaded stage by stage."""
    torch.manual_seed(run.seed)
    fast = FastModel(build_policy(tokenizer))
    policy = trainee(fast, tokenizer)
    for stage in STAGES:
        run.stage(f"policy:{stage.name}", fast.model, stage.budget, partial(stage.run, policy))
    return fast


def drifted(
    run: Run, fast: FastModel, tokenizer: Any, settings: DriftSettings
) -> tuple[FastModel, list[tuple[str, str]]]:
    """A copy of the policy after a short RL run, and the rollouts on its way; kept among the stages."""
    settings = replace(settings, steps=run.count(settings.steps))
    name = f"drift_{'pattern' if settings.penalty else 'base'}_{settings.steps}_seed{run.seed}.pt"
    path = run.stages / name
    copied = FastModel(copy.deepcopy(fast.model))
    if path.exists():
        saved = torch.load(path, weights_only=True)
        copied.model.load_state_dict(saved["weights"])
        return copied, saved["rollouts"]
    rollouts = drift(copied, tokenizer, settings, run.seed)
    torch.save({"weights": copied.model.state_dict(), "rollouts": rollouts}, path)
    return copied, rollouts


def train_pattern_rm(run: Run, policy_tokenizer: Any, tokenizer: Any) -> tuple[FastModel, dict[str, FastModel]]:
    """PatternRM, first on written responses, then on rollouts of the warm start and of drifted policies too.

    Returns PatternRM and the policies that it should be measured on.
    """
    torch.manual_seed(run.seed)
    fast = FastModel(build_judge(tokenizer, "pattern_rm"))
    for name, budget, mix in (("claims", CLAIMS_BUDGET, CLAIMS_MIX), ("written", WRITTEN_BUDGET, PATTERN_MIX)):
        train = partial(train_judge, f"pattern_rm {name}", fast, tokenizer, draw=partial(written_lesson, mix))
        run.stage(f"pattern_rm:{name}", fast.model, budget, train)
    warm = train_policy(run, policy_tokenizer)
    policies = {"warm_start": warm}
    questions = fresh_questions(run.count(WARM_START_QUESTIONS), run.seed + 1)
    sampled = roll_out(warm, policy_tokenizer, questions, run.seed, n=ROLLOUTS_PER_QUESTION)
    rollouts = [(one.question.text, one.visible) for one in sampled]
    for settings in DRIFTS:
        name = "after_pattern_rl" if settings.penalty else "after_base_rl"
        policies[name], seen = drifted(run, warm, policy_tokenizer, settings)
        rollouts += seen
    train = partial(train_judge, "pattern_rm rollouts", fast, tokenizer, draw=mixed_lessons(rollouts))
    run.stage("pattern_rm:rollouts", fast.model, ROLLOUT_BUDGET, train)
    return fast, policies


def train_answer_judge(run: Run, tokenizer: Any) -> FastModel:
    """The answer judge."""
    torch.manual_seed(run.seed)
    fast = FastModel(build_judge(tokenizer, "answer_judge"))
    train = partial(train_judge, "answer_judge", fast, tokenizer, draw=equivalence_lesson)
    run.stage("answer_judge", fast.model, VERDICT_BUDGET, train)
    return fast


def make_policy(run: Run, tokenizer: Any) -> dict[str, dict[str, float]]:
    """Train, save and measure the policy."""
    fast = train_policy(run, tokenizer)
    folder = run.out / "policy"
    fast.model.save_pretrained(folder)
    build_processor(tokenizer).save_pretrained(folder)
    questions = fresh_questions(run.count(FIGURE_QUESTIONS), run.seed + 2)
    seed = run.seed
    return {
        "non-thinking, temperature 1": policy_figures(roll_out(fast, tokenizer, questions, seed)),
        "non-thinking, greedy": policy_figures(roll_out(fast, tokenizer, questions, seed, temperature=0.0)),
        "thinking, temperature 1": policy_figures(roll_out(fast, tokenizer, questions, seed, thinking=True)),
        "shuffled images, temperature 1": policy_figures(roll_out(fast, tokenizer, questions, seed, shuffled=True)),
    }


def make_pattern_rm(run: Run, tokenizer: Any) -> dict[str, dict[str, float]]:
    """Train, save and measure PatternRM on fresh rollouts of each policy, with the drifted policies' own figures."""
    own = build_pattern_rm_tokenizer(run.seed)
    fast, policies = train_pattern_rm(run, tokenizer, own)
    _save_judge(fast, own, run.out / "pattern_rm")
    figures = {}
    questions = fresh_questions(run.count(FIGURE_QUESTIONS), run.seed + 3)
    for name, policy in policies.items():
        rollouts = roll_out(policy, tokenizer, questions, run.seed)
        texts = [(one.question.text, one.visible) for one in rollouts]
        figures[f"labels on rollouts, {name}"] = pattern_rm_figures(fast, own, texts)
        if name != "warm_start":
            figures[f"policy by oracle, {name}"] = policy_figures(rollouts)
    return figures


def make_answer_judge(run: Run, tokenizer: Any) -> dict[str, dict[str, float]]:
    """Train, save and measure the answer judge."""
    fast = train_answer_judge(run, tokenizer)
    _save_judge(fast, build_tokenizer(run.seed, chat_template=JUDGE_TEMPLATE), run.out / "answer_judge")
    return {
        "fresh pairs": answer_judge_figures(fast, tokenizer, fresh_pairs(run.count(4 * FIGURE_QUESTIONS), run.seed + 2))
    }


def _save_judge(fast: FastModel, tokenizer: Any, folder: Path) -> None:
    fast.model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


MAKERS: dict[str, Callable[[Run, Any], dict[str, dict[str, float]]]] = {
    "policy": make_policy,
    "pattern_rm": make_pattern_rm,
    "answer_judge": make_answer_judge,
}


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Train the tiny policy, PatternRM and answer judge of the toy world.")
    parser.add_argument(
        "--out", type=Path, required=True, help="folder for policy/, pattern_rm/, answer_judge/ and cards"
    )
    parser.add_argument("--only", choices=MODELS, help="train one model instead of all three")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--stages", type=Path, default=Path("outputs/toy_training"), help="folder of the stage checkpoints"
    )
    parser.add_argument("--fast", action="store_true", help="two percent of the steps, to try the command")
    args = parser.parse_args(argv)
    single_threaded()
    run = Run(args.out, args.stages, args.seed, FAST_FACTOR if args.fast else 1.0)
    tokenizer = build_tokenizer(run.seed, chat_template=POLICY_TEMPLATE)
    for name in [args.only] if args.only else MODELS:
        start = time.monotonic()
        figures = MAKERS[name](run, tokenizer)
        print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)
        print(write_card(run.out / name, name, run.seed, args.fast, figures), flush=True)


if __name__ == "__main__":
    main()
