"""The oracle: what a toy response says, read back from its text alone.

It shares its sentences with the generator, so its labels are easier to predict than those of real responses; any figure
against the oracle should be read with that in mind. It imports no torch and takes any text without raising.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from corpora.toy.labels import vector
from corpora.toy.names import NUMBER_WORDS, canonical

_COT = re.compile(r"\b[Ll]et me\b|\bI (?:see|have|get|think)\b|\bHmm\b|\bWait\b|\bOkay\b|</?think>")
"""First-person deliberation; a think marker that is left in the visible text is leakage too."""

_COUNT = rf"\d|{'|'.join(NUMBER_WORDS)}"
_CLAIM = re.compile(
    rf"There are (?P<count>{_COUNT}) (?P<counted>[a-z ]+)\."
    r"|There are more (?P<more>[a-z]+) shapes\."
    r"|There is (?P<article>a|no) (?P<existing>[a-z]+ [a-z]+)\."
    r"|The color in (?P<place>row \d, column \d) is (?P<color>[a-z]+)\."
    r"|Both colors are (?P<equal>equal)\."
)
_ROWS = re.compile(r"\b[Rr]ow \d(?: is|:)|Colors of each")
_WRAPPER = re.compile(r"\banalysis\b|\bexamination\b")
_BOX = re.compile(r"\\boxed\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence that states an answer: its text, what it is about, and the canonical value it gives."""

    text: str
    subject: str
    value: str


def claims(response: str) -> list[Claim]:
    """All claims of a response, in order."""
    found = []
    for match in _CLAIM.finditer(response):
        part = match.groupdict()
        if part["count"]:
            subject, value = part["counted"], canonical(part["count"])
        elif part["article"]:
            subject, value = part["existing"], "yes" if part["article"] == "a" else "no"
        elif part["place"]:
            subject, value = part["place"], canonical(part["color"])
        else:
            subject, value = "more", canonical(part["more"] or part["equal"])
        found.append(Claim(match.group(), subject, value))
    return found


def boxed(response: str) -> str | None:
    """Content of the last complete ``\\boxed{}`` after the last ``</think>``; None without one."""
    boxes = _BOX.findall(response.rsplit("</think>", 1)[-1])
    return boxes[-1].strip() if boxes else None


def label_response(question: str, response: str) -> dict[str, bool]:
    """The pattern labels of a visible response.

    cot: deliberation markers or left-over think markers. rep: the same claim twice. con: two values for one subject, or
    a last claim that the box does not bear out (number words and second colour names are the same value). pr: analytic
    wrapper with neither claim nor rows. Any other label is absent (`corpora.toy.labels`). ``question`` belongs to the
    signature of every labeller; the oracle needs none.
    """
    made = claims(response)
    values: dict[str, set[str]] = {}
    for one in made:
        values.setdefault(one.subject, set()).add(one.value)
    box = boxed(response)
    con = any(len(found) > 1 for found in values.values())
    if made and box is not None and canonical(box) != made[-1].value:
        con = True
    return vector(
        cot=bool(_COT.search(response)),
        rep=len(made) > len({one.text for one in made}),
        con=con,
        pr=bool(_WRAPPER.search(response)) and not made and not _ROWS.search(response),
    )


def is_correct(reference: str, response: str) -> bool:
    """Whether the last box means the same as the reference; number words and second colour names count."""
    box = boxed(response)
    return box is not None and same_answer(reference, box)


def same_answer(reference: str, answer: str) -> bool:
    """Whether an extracted answer means the same as the reference."""
    return canonical(reference) == canonical(answer)


def style_of(response: str) -> str:
    """The style a response reads as: direct, evidence, cot or performative."""
    if _COT.search(response):
        return "cot"
    if _ROWS.search(response):
        return "evidence"
    if _WRAPPER.search(response) and not claims(response):
        return "performative"
    return "direct"
