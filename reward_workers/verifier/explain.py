"""Why a verdict is what it is, in a sentence."""

from __future__ import annotations

from foundation.runs.records import Verdict
from reward_workers.verifier.reasons import PREFIXES, TABLES

_MAX_SHOWN = 80


def explain(verdict: Verdict, reference: str) -> str:
    """One sentence of why, and the two texts that were compared, shortened.

    Raises:
        ValueError: a reason that is not one of the verifier's, such as a judge's.

    >>> explain(Verdict(0, "typed", "other_count", "1, 2"), "1, 2, 3")
    'Wrong: it has more or fewer parts than the reference. Answer "1, 2", reference "1, 2, 3".'
    """
    name, meaning = _meaning(verdict)
    answer = "none" if verdict.extracted is None else _quoted(verdict.extracted)
    return f"{name}: {meaning}. Answer {answer}, reference {_quoted(reference)}."


def _meaning(verdict: Verdict) -> tuple[str, str]:
    for value, name, meanings in TABLES:
        if value != verdict.value:
            continue
        prefix = next((prefix for prefix in PREFIXES if verdict.reason.startswith(prefix)), None)
        code = verdict.reason if prefix is None else f"{prefix}*"
        if code in meanings:
            return name, meanings[code]
    raise ValueError(
        f"reason={verdict.reason!r} with value={verdict.value!r} has no meaning in reward_workers.verifier.reasons: "
        "only verdicts of the verifier can be explained"
    )


def _quoted(text: str) -> str:
    """Shortened and in quotes; control characters, which a terminal would obey, as escapes."""
    shown = text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 3]}..."
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in shown) + '"'
