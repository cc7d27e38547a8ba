"""Rows for the benchmark of verifiers: read from files, or generated with the truth known by construction.

    python -m benchmarks.verifier_cases {math,chart} --rows 10000 --seed 0 --out CASES.jsonl

A row is {id, kind, response, reference, answer_type, options, expected, truth}: `expected` is what the rules of
docs/verifier.md say (1, 0 or "unresolved"), `truth` what a careful person says (1, 0, null when it depends on the
question). The generator draws a reference, spellings of the same answer and other answers, and wraps one of them in a
response of several steps. It asks no verifier: equal spellings are built from the same integers, other answers are
built from other integers.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from reward_workers.verifier.rules.answer_types import check_answer_type

Expected = int | str
SHARE_RIGHT = 0.65
SHARE_WITHOUT_BOX = 0.01
SHARE_THINK = 0.05
SHARE_EARLIER_BOX = 0.03


@dataclass(frozen=True, slots=True)
class Case:
    """One row; see the module's text for `expected` and `truth`.

    Attributes:
        timed: counts in speed and latency; hostile and adversarial rows do not.
    """

    id: str
    kind: str
    response: str
    reference: str
    answer_type: str | None
    options: tuple[str, ...] | None
    expected: Expected
    truth: int | None
    timed: bool = True


@dataclass(frozen=True, slots=True)
class Drawn:
    """A reference with right and wrong answers, before one is chosen.

    Attributes:
        right, wrong: spellings that the rules must decide.
        open_right, open_wrong: spellings that the rules leave to a judge.
    """

    answer_type: str
    reference: str
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    open_right: tuple[str, ...] = ()
    open_wrong: tuple[str, ...] = ()
    options: tuple[str, ...] | None = None


Maker = Callable[[random.Random], Drawn]


@dataclass(frozen=True, slots=True)
class Family:
    """What a generated set is made of: (maker, weight) pairs, sentences of the steps, number of steps."""

    name: str
    makers: tuple[tuple[Maker, int], ...]
    steps: tuple[str, ...]
    n_steps: tuple[int, int]


_SEVERAL = ("list", "set", "tuple", "ordered_list")
_ENDINGS = (
    r"The final answer is \boxed{%s}.",
    r"Therefore, the answer is $\boxed{%s}$.",
    "**Answer:** $\\boxed{%s}$",
    "Final answer:\n\n\\[\n\\boxed{%s}\n\\]",
    r"So the answer is \boxed{%s}",
    "Hence\n$$\\boxed{%s}$$",
)


def generate(family: Family, n_rows: int, seed: int) -> Iterator[Case]:
    """Rows of a family; the same family, seed and index give the same row.

    Raises:
        ValueError: fewer than 1 row.
    """
    if n_rows < 1:
        raise ValueError(f"--rows {n_rows} must be 1 or more")
    makers, weights = zip(*family.makers, strict=True)
    for index in range(n_rows):
        rng = random.Random(f"{family.name}:{seed}:{index}")
        maker: Maker = rng.choices(makers, weights)[0]
        yield _case(family, f"{family.name}-{index:05d}", rng, maker(rng))


def _case(family: Family, identifier: str, rng: random.Random, drawn: Drawn) -> Case:
    is_right = rng.random() < SHARE_RIGHT
    decided, left_open = (drawn.right, drawn.open_right) if is_right else (drawn.wrong, drawn.open_wrong)
    answer = rng.choice(decided + left_open)
    expected: Expected = "unresolved" if answer in left_open else int(is_right)
    truth = int(is_right)
    steps, first_try = _steps(family, rng), rng.choice(drawn.right + drawn.wrong)
    if rng.random() < SHARE_WITHOUT_BOX and "\\boxed" not in answer:
        response, expected, truth = f"{steps}\n\nThe answer is {answer}.", 0, 0
    else:
        if rng.random() < SHARE_EARLIER_BOX:
            steps += f"\n\nA first try gives \\boxed{{{first_try}}}. Let me check it."
            if drawn.answer_type in _SEVERAL and not is_right:
                expected = "unresolved"  # the parts may stand in several boxes (rule 9)
        response = f"{steps}\n\n{rng.choice(_ENDINGS).replace('%s', answer)}"
    if rng.random() < SHARE_THINK:
        response = f"<think>{_steps(family, rng)} Maybe \\boxed{{{first_try}}}?</think>\n{response}"
    kind = f"{family.name}:{drawn.answer_type}"
    return Case(identifier, kind, response, drawn.reference, drawn.answer_type, drawn.options, expected, truth)


def _steps(family: Family, rng: random.Random) -> str:
    lines = []
    for number in range(1, rng.randint(*family.n_steps) + 1):
        values = {name: rng.randint(2, 99) for name in "abc"}
        lines.append(f"Step {number}: " + rng.choice(family.steps).format(**values))
    return "\n".join(lines)


def load(path: Path, hostile: bool = False) -> list[Case]:
    """Rows of a JSON Lines file.

    Args:
        hostile: rows without `expected` and `truth`, which are wrong, may stay unresolved and are not timed.

    Raises:
        ValueError: names the file, the line and what is wrong with it.
    """
    cases = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if line.strip():
            try:
                cases.append(_row(json.loads(line), f"{path.stem}-{number}", hostile))
            except (ValueError, TypeError, AttributeError) as error:
                raise ValueError(
                    f"{path}:{number}: {error}; see `python -m benchmarks.verifier_cases --help`"
                ) from error
    if not cases:
        raise ValueError(f"{path} holds no rows")
    return cases


def _row(row: dict[str, object], default_id: str, hostile: bool) -> Case:
    for key in ("response", "reference"):
        if not isinstance(row.get(key), str):
            raise ValueError(f"{key}={row.get(key)!r} must be a string")
    expected, truth = ("unresolved", 0) if hostile else (row.get("expected"), row.get("truth"))
    if expected not in (0, 1, "unresolved"):
        raise ValueError(f'expected={expected!r} must be 0, 1 or "unresolved"')
    if truth not in (0, 1, None):
        raise ValueError(f"truth={truth!r} must be 0, 1 or null")
    answer_type, options = row.get("answer_type"), row.get("options")
    if answer_type is not None:
        check_answer_type(str(answer_type))
    if options is not None and not isinstance(options, list):
        raise ValueError(f"options={options!r} must be a list")
    kind = str(row.get("kind") or answer_type or "any")
    return Case(
        id=str(row.get("id", default_id)),
        kind=kind,
        response=str(row["response"]),
        reference=str(row["reference"]),
        answer_type=None if answer_type is None else str(answer_type),
        options=None if options is None else tuple(str(option) for option in options),
        expected=expected,
        truth=truth,
        timed=not hostile and not kind.startswith("adv:"),
    )


def main() -> None:
    from benchmarks.verifier_chart_like import CHART_LIKE
    from benchmarks.verifier_math_like import MATH_LIKE

    families = {"math": MATH_LIKE, "chart": CHART_LIKE}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", choices=families)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    if options.rows < 1:
        parser.error(f"--rows {options.rows} must be 1 or more")
    with options.out.open("w") as file:
        for case in generate(families[options.family], options.rows, options.seed):
            file.write(json.dumps(asdict(case), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
