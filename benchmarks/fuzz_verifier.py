"""Fuzzing of the verifier's rules, and how their time grows on 100 KB of hostile text.

    python -m benchmarks.fuzz_verifier [--minutes 10] [--seed 0] [--growth-only]

Hypothesis writes answers and references out of the pieces below (LaTeX, brackets, separators, numbers, units, words,
look-alike characters) and of any Unicode. A function that raises, a verdict without a known reason, a raw answer that
does not equal itself, and an answer that takes more than a second of CPU time are findings: the smallest input is
printed and the exit code is 1. The growth check repeats each piece to 100 KB, alone and inside four frames, and prints
what takes longest; more than 50 ms is a finding too, and a quadratic scan takes minutes there.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from reward_workers.verifier import extract_boxed, verify_rules
from reward_workers.verifier.explain import explain
from reward_workers.verifier.rules.answer_types import ANSWER_TYPES
from reward_workers.verifier.rules.guard import blocked
from reward_workers.verifier.rules.normalize import canonical, says_nothing, tight
from reward_workers.verifier.rules.notation.expression import NotAnExpression, parse
from reward_workers.verifier.rules.notation.split import outer_bracket, split_parts, split_top

PIECES = [
    "{", "}", "{}", "\\{", "\\}", "(", ")", "[", "]", "()", "()", "([{", ",", ";", ":", ".", "...", "=", "x=", "<",
    ">", "|", "+", "-", "--", "+-", "+/-", "\\pm", "*", "**", "/", "!", "%", "\\%", "_", "__", "^", "^{", "_{",
    "^{2}", "x^{2}", "^o", "7", "7,777", "1.5", ".5", "0.", "1e9", "1e", "12", "007", "1/2", "2:3", "3:30",
    "2024-03-05", "\\frac", "\\frac12", "\\frac{1}{2}", "\\dfrac{", "\\nicefrac", "\\over", "{1\\over2}", "{\\over",
    "\\sqrt", "\\sqrt2", "\\sqrt[3]{", "\\binom42", "\\left", "\\left(", "\\right.", "\\left\\left", "\\big",
    "\\boxed", "\\boxed7", "\\boxed{", "\\boxed{1}", "\\text{", "\\text{a}", "\\mathrm{x}", "\\mathbf",
    "\\color{red}", "\\color", "\\lbrace", "\\overline{3}", "\\infty", "\\emptyset", "\\begin{pmatrix}",
    "\\end{pmatrix}", "\\begin{pmatrix}1\\end{pmatrix}", "\\\\", "&", "\\", "\\,", "\\!", "{,}", "1{,}", "\\quad",
    "~", "$", "$$", "$5", "\\$", "€", "¥", "°", "\\circ", "\\degree", "\\in", "\\mathbb{R}", "\\cup", "\\le", "\\ne",
    "\\mid", "\\approx", "\\ldots", "x", "y", "n", "a", "A", "B", "C", "(A)", "A,", "AB", "pi", "e", "i", "sin",
    "\\sin", "\\log", "\\ln", "cm", "km/h", "m^2", "kilometers", "dollars", "percent", "million", "and", "or", "yes",
    "no", "True", "seven", "half", "IV", "red", "isosceles", "是", "否", "和", "或", "、", "，", "（", "）", "１",
    "Ａ", "厘米",
    "七", "√", "√7", "²", "₂", "½", "π", "≤", "−", "é", "﷽", "ﬃ", "́", "\u200b", "\u202e", "<think>", "</think>", '"',
    "'", "`", "#", "@", "??",
]  # fmt: skip
SPACES = (" ", "  ", "\n", "\t", "\u3000", "\u00a0")
FRAMES = (("", ""), ("(", ")"), ("{", "x"), ("1", "1"), ("$", "$ x"))

FUNCTIONS: dict[str, Callable[[str], object]] = {
    "extract": extract_boxed,
    "canonical": canonical,
    "tight": tight,
    "says_nothing": says_nothing,
    "split_top": lambda text: split_top(text, ",;"),
    "split_parts": split_parts,
    "outer_bracket": outer_bracket,
    "guard": blocked,
    "rules": lambda text: verify_rules(f"\\boxed{{{text}}}", "7"),
    "rules, long reference": lambda text: verify_rules("\\boxed{7}", text),
}
"""What has to take any text in linear time."""

TEXTS = st.one_of(
    st.lists(st.sampled_from((*PIECES, *SPACES)), max_size=12).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=8).map(" ".join),
    st.text(max_size=60),
)
MAX_SECONDS = 1.0
"""CPU seconds that everything may take on one pair of texts."""
MAX_GROWTH_S = 0.05
"""CPU seconds that each function may take on 100 KB."""


def check(answer: str, reference: str, answer_type: str | None) -> float:
    """Every function on one pair of texts; returns the CPU seconds that they took.

    Raises:
        AssertionError: a finding that is no exception by itself.
    """
    started = time.process_time()
    for function in FUNCTIONS.values():
        function(answer)
    canonical_answer = canonical(answer)
    split_parts(canonical_answer)
    with suppress(NotAnExpression):
        parse(canonical_answer)
    for response, expected in (
        (f"\\boxed{{{answer}}}", reference),
        (answer, reference),
        (f"\\boxed{{{reference}}}", answer),
    ):
        verdict = verify_rules(response, expected, answer_type)
        explain(verdict, expected)
    content = extract_boxed(f"\\boxed{{{answer}}}").content
    if content is not None and canonical(content):
        same = verify_rules(f"\\boxed{{{answer}}}", content, answer_type)
        assert same.value == 1, f"{content!r} is not itself: {same}"
    return time.process_time() - started


def one_round(number: int, examples: int) -> str | None:
    """One hypothesis run; the traceback of its smallest failing example, None without one."""

    @seed(number)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(TEXTS, TEXTS, st.sampled_from((None, *ANSWER_TYPES)))
    def run(answer: str, reference: str, answer_type: str | None) -> None:
        seconds = check(answer, reference, answer_type)
        if seconds > MAX_SECONDS:  # once more, because the CPU clock of a virtual machine can jump
            seconds = check(answer, reference, answer_type)
        assert seconds < MAX_SECONDS, f"took {seconds:.2f} s of CPU time"

    try:
        run()
    except Exception:  # noqa: BLE001 - whatever it is, it is a finding
        return traceback.format_exc()
    return None


def growth_texts(n_bytes: int = 100_000) -> Iterator[tuple[str, str]]:
    """(description, text) for every piece in every frame."""
    for piece in (*PIECES, *SPACES):
        if not piece:
            continue
        body = piece * (n_bytes // len(piece.encode()))
        for left, right in FRAMES:
            yield f"{left}{piece!r}...{right}", f"{left}{body}{right}"


def growth_seconds(text: str, repeats: int = 2) -> dict[str, float]:
    """CPU seconds of each function on a text, the best of some repeats."""
    found = {}
    for name, function in FUNCTIONS.items():
        times = []
        for _ in range(repeats):
            started = time.process_time()
            function(text)
            times.append(time.process_time() - started)
        found[name] = min(times)
    return found


def slowest_growth() -> dict[str, list[tuple[float, str]]]:
    """The two slowest inputs of each function: (seconds, description)."""
    slowest: dict[str, list[tuple[float, str]]] = {name: [] for name in FUNCTIONS}
    for description, text in growth_texts():
        for name, seconds in growth_seconds(text).items():
            slowest[name] = sorted([*slowest[name], (seconds, description)], reverse=True)[:2]
    return slowest


def growth_table(slowest: dict[str, list[tuple[float, str]]]) -> Table:
    """The slowest inputs of each function."""
    table = Table(
        "function", "slowest 100 KB", "ms", title=f"growth: {len(PIECES) + len(SPACES)} pieces in {len(FRAMES)} frames"
    )
    for name, found in slowest.items():
        for seconds, description in found:
            table.add_row(name, description, f"{seconds * 1e3:.1f}")
    return table


def fuzz(minutes: float, first_seed: int, examples: int = 2000) -> tuple[int, list[str]]:
    """(rounds, findings) of hypothesis runs with rising seeds until the time is over."""
    until = time.monotonic() + minutes * 60
    rounds, findings = 0, []
    with Progress(console=Console(stderr=True)) as progress:
        bar = progress.add_task("fuzzing", total=minutes * 60)
        while time.monotonic() < until and len(findings) < 5:
            finding = one_round(first_seed + rounds, examples)
            rounds += 1
            if finding is not None:
                findings.append(finding)
            progress.update(bar, completed=minutes * 60 - max(0.0, until - time.monotonic()))
    return rounds * examples, findings


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--growth-only", action="store_true")
    args = parser.parse_args()
    console = Console()
    growth = slowest_growth()
    console.print(growth_table(growth))
    findings = [
        f"{name} takes {seconds:.3f} s of {description}"
        for name, found in growth.items()
        for seconds, description in found
        if seconds > MAX_GROWTH_S
    ]
    examples = 0
    if not args.growth_only:
        examples, found_examples = fuzz(args.minutes, args.seed)
        findings += found_examples
    for finding in findings:
        console.print(finding, markup=False)
    console.print(f"{examples} examples from seed {args.seed} on, {len(findings)} findings")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
