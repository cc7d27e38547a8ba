"""The card of a shipped model: how it was made and what it reaches, for people (card.md) and for tests (card.json)."""

from __future__ import annotations

import json
from pathlib import Path

ABOUT = {
    "policy": (
        "Qwen3VLForConditionalGeneration with about one million parameters that answers questions about 3x3 grids of "
        "coloured shapes. It is the warm start of the CPU path: its answers depend on the image, and its responses "
        "carry the bad patterns in known shares. Warm start in four supervised stages: captions, answers, tally "
        "(several counting questions about one image), mix (the shares that RL begins from, with wrong direct answers)."
    ),
    "pattern_rm": (
        "Qwen3ForCausalLM that reads a question and a visible response and writes the pattern labels. Trained on "
        "written responses, then on rollouts of the warm-started policy and of two short oracle-judged GRPO runs "
        "(correctness alone; with the pattern penalty), labelled by the oracle."
    ),
    "answer_judge": (
        "Qwen3ForCausalLM that reads a question, its reference and an extracted answer and writes CORRECT or "
        "INCORRECT. It knows number words and second colour names, which the verifier's rules leave unresolved."
    ),
}
CAVEAT = (
    "Generator and oracle share their sentences, so labels are easier to predict than those of real responses. "
    "Figures are from one training run with one seed, on questions that its training did not draw."
)


def write_card(folder: Path, name: str, seed: int, fast: bool, figures: dict[str, dict[str, float]]) -> str:
    """Write card.json and card.md into the model's folder; returns the text of card.md.

    Args:
        figures: one table of named figures a measurement, each with its number of cases ``n``.
    """
    command = f"python -m corpora.toy.train --out assets/toy --only {name} --seed {seed}" + (" --fast" if fast else "")
    content = {"model": name, "about": ABOUT[name], "command": command, "seed": seed, "figures": figures}
    (folder / "card.json").write_text(json.dumps(content, indent=2) + "\n")
    lines = [f"# {name}", "", ABOUT[name], "", f"Made and measured by `{command}`.", CAVEAT]
    for measurement, table in figures.items():
        lines += ["", f"## {measurement}", "", "| figure | value |", "|---|---|"]
        lines += [f"| {figure} | {value:g} |" for figure, value in table.items()]
    text = "\n".join(lines) + "\n"
    (folder / "card.md").write_text(text)
    return text
