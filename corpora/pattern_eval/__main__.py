"""The command: three steps with a file each, then the prompts and their manifest.

    python -m corpora.pattern_eval pool.files=[pool.jsonl] rollouts=[outputs/pattern_eval/a,outputs/pattern_eval/b]

    anchors.jsonl     step 1        manifest.jsonl   a decision and its reason for every candidate
    related.jsonl     step 2        manifest.json    settings, quotas and counts
    prompts.jsonl     the set, for evaluation.pattern_eval

Exit codes: 0 done, 2 a setting or an input is wrong.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from omegaconf import DictConfig
from rich.console import Console

from corpora.pattern_eval.anchors import Anchor, find_anchors
from corpora.pattern_eval.candidates import Candidate, candidates_of
from corpora.pattern_eval.duplicates import Fingerprints, remember
from corpora.pattern_eval.expansion import Related, expand
from corpora.pattern_eval.sampling import SamplingRules, sample
from evaluation.pattern_eval.prompt_file import PromptFileError, fingerprint, read_prompts
from evaluation.pattern_eval.responses import read_responses
from foundation.runs.evaluation_records import Prompt
from foundation.runs.run_folder import write_whole
from foundation.settings.compose import CONFIG_DIR, ConfigError, compose_command_line, plain_settings
from foundation.settings.terminal import refuse

Row = TypeVar("Row")


def main() -> int:
    """Run the command line of this process; returns the exit code."""
    try:
        config = compose_command_line(CONFIG_DIR / "evaluation", "construction")
        if config is not None:
            construct(config, Console(highlight=False, soft_wrap=True))
        return 0
    except (ConfigError, PromptFileError) as error:
        problems: Sequence[str] = error.problems
    except ValueError as error:
        problems = str(error).splitlines()
    return refuse(problems)


def construct(config: DictConfig, console: Console) -> None:
    """All three steps; a step whose file belongs to the same inputs is not repeated.

    Raises:
        ValueError: a setting or an input is wrong.
    """
    settings = plain_settings(config)
    out = Path(settings["out"])
    out.mkdir(parents=True, exist_ok=True)
    pool = read_prompts([Path(file) for file in settings["pool"]["files"]], settings["prompts"]["taxonomy"], None)
    root = Path(settings["pool"]["image_root"])
    responses = [response for folder in settings["rollouts"] for response in read_responses(Path(folder))]
    candidates = candidates_of(pool, responses)
    seen = sum(candidate.responses > 0 for candidate in candidates)
    if not seen:
        raise ValueError(
            f"rollouts={settings['rollouts']}: no labelled non-thinking response to a prompt of the pool; run "
            "python -m evaluation.pattern_eval with prompts.files of the pool first"
        )
    console.print(f"pool: {len(pool):,} candidates, {seen:,} with labelled responses")

    inputs = _hash({"pool": fingerprint(pool), "candidates": [_facts(candidate) for candidate in candidates]})
    rules = settings["anchors"]
    anchors = _step(
        out / "anchors.jsonl",
        _hash([inputs, rules]),
        lambda: find_anchors(candidates, rules["min_responses"], rules["min_share"]),
        lambda row: Anchor(**{**row, "labels": tuple(row["labels"])}),
    )
    console.print(f"step 1: {len(anchors):,} anchors")
    wide = settings["expansion"]
    related = _step(
        out / "related.jsonl",
        _hash([inputs, rules, wide]),
        lambda: expand(pool, anchors, wide["similarity"], wide["per_anchor"]),
        lambda row: Related(**row),
    )
    relations = Counter(one.relation for one in related)
    console.print(f"step 2: {len(related):,} candidates ({', '.join(f'{n:,} {r}' for r, n in relations.items())})")
    _sample(settings, out, root, candidates, related, console)


def _sample(
    settings: Mapping[str, Any],
    out: Path,
    root: Path,
    candidates: Sequence[Candidate],
    related: Sequence[Related],
    console: Console,
) -> None:
    limits = settings["duplicates"]
    training = Fingerprints(root, limits["image_bits"], limits["similarity"])
    if settings["training"]["files"]:
        files = [Path(file) for file in settings["training"]["files"]]
        remember(read_prompts(files, settings["training"]["taxonomy"], None), training)
    chosen = Fingerprints(root, limits["image_bits"], limits["similarity"])
    rules = SamplingRules(
        **{**settings["sampling"], "checked_types": tuple(settings["sampling"]["checked_types"])}, seed=settings["seed"]
    )
    decisions, quotas = sample(candidates, related, rules, training, chosen, root)
    kept = {decision.prompt_id for decision in decisions if decision.kept}
    prompts = [candidate.prompt for candidate in candidates if candidate.prompt.prompt_id in kept]
    _write(out / "manifest.jsonl", [asdict(decision) for decision in decisions])
    _write(out / "prompts.jsonl", [_prompt_row(prompt) for prompt in prompts])
    reasons = Counter(decision.reason for decision in decisions)
    manifest = {
        "settings": settings,
        "pool": len(candidates),
        "kept": len(prompts),
        "reasons": dict(sorted(reasons.items())),
        "quotas": {category: asdict(quota) for category, quota in quotas.items()},
        "families": dict(Counter(prompt.family for prompt in prompts)),
        "sources": dict(Counter(prompt.source for prompt in prompts)),
        "prompts": fingerprint(prompts),
    }
    write_whole(out / "manifest.json", json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
    for category, quota in quotas.items():
        console.print(
            f"  {category}: {quota.got:,} of {quota.allowed:,} (asked {quota.asked:,}; {quota.why})", markup=False
        )
    rejected = ", ".join(f"{n:,} {reason}" for reason, n in reasons.most_common() if reason != "kept")
    console.print(
        f"step 3: {len(prompts):,} prompts; not taken: {rejected or 'none'}\nset       {out / 'prompts.jsonl'}"
    )
    console.print(f"manifest  {out / 'manifest.jsonl'}")


def _facts(candidate: Candidate) -> list[Any]:
    return [
        candidate.prompt.prompt_id,
        candidate.responses,
        dict(candidate.by_label),
        candidate.wrong,
        candidate.variation,
    ]


def _step(
    path: Path, inputs: str, make: Callable[[], list[Row]], decode: Callable[[Mapping[str, Any]], Row]
) -> list[Row]:
    """The rows of a step: those of an earlier start with the same inputs, else made now. The first line names them."""
    if path.exists():
        first, *lines = path.read_text(encoding="utf-8").splitlines()
        if first == json.dumps({"inputs": inputs}):
            return [decode(json.loads(line)) for line in lines]
    rows = make()
    _write(path, [{"inputs": inputs}, *(asdict(row) for row in rows)])  # type: ignore[call-overload]
    return rows


def _prompt_row(prompt: Prompt) -> dict[str, Any]:
    images = [
        image if isinstance(image, str) else {"base64": base64.b64encode(image).decode()} for image in prompt.images
    ]
    options = None if prompt.options is None else list(prompt.options)
    return {**asdict(prompt), "images": images, "options": options}


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    write_whole(path, "".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
