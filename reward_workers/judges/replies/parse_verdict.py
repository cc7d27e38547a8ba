"""The verdict of the fallback judge, read from its reply.

The last explicit verdict counts. A sentence that merely contains the word (an instruction repeated, "the correct answer
is 5", a quotation) is no verdict; a doubt, or two verdicts side by side, leave the reply unscored. Where the compared
answers hold verdicts themselves, a judge that quotes them must not be read as deciding: only its last line counts.
"""

from __future__ import annotations

import re
from typing import Literal

from reward_workers.judges.replies.reply_text import ParseFailure, answer_part, no_decision, plain

_NEGATIVE = (
    r"\bin-?correct\b|\bwrong\b"
    r"|(?:\bnot|n't|\bnever|\bhardly|\bfar from)\s+(?:[a-z]{1,12}\s+){0,2}correct\b"
    r"|不(?:是)?正确|不对|错误|有误"
)
_POSITIVE = r"\bcorrect\b|正确"
_WORD = re.compile(rf"(?P<no>{_NEGATIVE})|(?P<yes>{_POSITIVE})", re.IGNORECASE)
_DOUBLE_NEGATIVE = re.compile(
    r"(?:\bnot|n't|\bnever)\s+(?:[a-z]{1,12}\s+)?(?:in-?correct|wrong)\b|(?:不是|并非|没有)(?:错误|不正确)", re.I
)
_DOUBT = re.compile(
    r"\b(?:maybe|perhaps|probably|possibly|likely|might|may be|could be|unsure|uncertain|not sure|unclear|undecided"
    r"|(?:cannot|can't|could not|unable to) (?:determine|tell|decide|judge|verify)|hard to (?:say|tell)"
    r"|partial(?:ly)?|partly|mostly|nearly|almost|somewhat|half)\b"
    r"|可能|也许|大概|或许|不确定|无法(?:判断|确定)|部分|基本|差不多",
    re.IGNORECASE,
)
_OPEN_DOUBT = re.compile(
    r"\b(?:unsure|uncertain|not sure|undecided|(?:cannot|can't|could not|unable to) (?:determine|tell|decide|judge))\b"
    r"|不确定|无法(?:判断|确定)",
    re.IGNORECASE,
)
_HEDGED = re.compile(
    r"(?:\b(?:maybe|perhaps|probably|possibly|likely|partial(?:ly)?|partly|mostly|nearly|almost|somewhat|half)\s+(?:in-?)?correct\b)"
    r"|(?:可能|也许|大概|或许|部分|基本|差不多)(?:不)?正确",
    re.IGNORECASE,
)
_INSTRUCTION = re.compile(
    r"\b(?:if|when|whether|unless|should|must|either|instructions?|asked|told|(?:respond|reply|answer|output|write|say|print|end)s?"
    r"(?: only)? (?:with |as |by )?[\"'`*]*(?:in)?correct)\b|如果|若|是否|请|输出|要求|应当",
    re.IGNORECASE,
)
_LABEL = (
    r"(?:the |my )?(?:final )?(?:verdict|judge?ment|decision|conclusion|result|evaluation|grade"
    r"|判定|判断|结论|结果|最终判定)"
)
_WRAP = r"[\s*_`\"'#({\[<>-]{0,20}"
_NOISE = re.compile(r"\\[a-z]+|</?[a-z]{1,12}>|[^\w\s:=?'-]|_", re.IGNORECASE)
# A line of nothing but verdicts, with or without a label: "Verdict: CORRECT", but also "CORRECT or INCORRECT".
_BARE = re.compile(
    rf"[\s'-]*(?:{_LABEL}[\s'-]*(?:is\b|was\b|为|是)?[\s:=-]*)?(?:{_NEGATIVE}|{_POSITIVE})"
    rf"(?:(?:[\s'-]+(?:(?:or|and)\s)?|或|和)(?:{_NEGATIVE}|{_POSITIVE}))*[\s'?:-]*",
    re.IGNORECASE,
)
_LABELLED = re.compile(rf"{_LABEL}{_WRAP}(?:is|:|=|为|是){_WRAP}(?:{_NEGATIVE}|{_POSITIVE})", re.IGNORECASE)
# A verdict in capitals opens its sentence ("CORRECT - same value") or closes it ("so the candidate is INCORRECT").
_SHOUTED = re.compile(
    rf"^{_WRAP}(?:NOT )?(?:IN-?)?CORRECT{_WRAP}(?:[-—–:,;.(]|because\b|since\b|as\b)"
    rf"|(?:\b(?:is|are|so|thus|therefore|hence|but|not|NOT)|[:,;→—–>-])\s*[*_]{{0,2}}(?:IN-?)?CORRECT{_WRAP}[.!]?\s*$"
)
# Somebody's words about the word, such as "the candidate contains the word CORRECT".
_MENTIONED = re.compile(
    r"\b(?:words?|text|string|contains?|says?|said|claims?|writes?|wrote|states?|statement|asserts?|quotes?|prints?)\b"
    r"|[\"'`](?:in-?)?correct[\"'`]|字样|声称|写着",
    re.IGNORECASE,
)
_BOTH_IN_BRACKETS = re.compile(r"\(\s*(?:in)?correct\s*(?:or|/|\||,)\s*(?:in)?correct\s*\)", re.IGNORECASE)
_STATED = re.compile(
    r"(?<!reference )(?<!question )\b(?:answer|response|candidate|it|this|that)(?: answer| response)?(?: is|'s| are)"
    r"(?: [a-z]{2,12}ly| therefore| thus| indeed| also)?,?"
    rf"\s+(?:{_NEGATIVE}|{_POSITIVE})(?! (?:that|to)\b)"
    r"|\b(?:answer|response|candidate) (?:isn't|is not) (?:[a-z]{1,12} )?correct\b"
    rf"|(?:答案|回答|候选)(?:是|为)?(?:{_NEGATIVE}|{_POSITIVE})的?",
    re.IGNORECASE,
)
_ABOUT_THE_REFERENCE = re.compile(
    r"\bcorrect (?:answer|value|result|option|choice|response)|正确(?:的)?(?:答案|选项|结果)", re.I
)
_FLAG = re.compile(r"[\"'](?:is_)?(?:correct|verdict)[\"']\s*:\s*(?P<flag>true|false)\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?;。])\s+|(?<=。)|\n")

_Reading = Literal["yes", "no", "doubt", "both"]


def parse_verdict(text: str | None, *compared: str) -> int | ParseFailure:
    """The verdict of the fallback judge.

    Args:
        text: the reply; None when the server sent none.
        compared: the answers that the judge was shown. When one holds the words of a verdict, the reply must end as
            the prompt asks, with a line of nothing but the verdict; all else may be a quotation.

    Returns:
        1 or 0, or why the reply is unscored: null, empty, refusal, unclosed_thinking, no_decision, doubt,
        verdicts_differ, echo.
    """
    part = answer_part(text)
    if isinstance(part, ParseFailure):
        return part
    answer, _ = part
    lines = [line for line in answer.split("\n") if line.strip() and not line.lstrip().startswith(">")]
    if any(_holds_a_verdict(plain(part)) for part in compared):
        announced = len(lines) > 1 and lines[-2].rstrip(' *_`"').endswith(":")  # "The candidate reads:"
        if not lines or announced or not _is_bare(lines[-1]):
            return ParseFailure("echo", lines[-1].strip()[:80] if lines else "")
    readings = [_read_line(line) for line in lines]
    last = next((index for index in range(len(lines) - 1, -1, -1) if readings[index] is not None), None)
    if last is None:
        return no_decision(answer)
    reading = readings[last]
    beside = readings[last - 1] if last > 0 else None
    opposed = beside in ("yes", "no") and beside != reading and _is_bare(lines[last]) and _is_bare(lines[last - 1])
    if reading == "both" or opposed:
        return ParseFailure("verdicts_differ", lines[last].strip()[:80])
    if reading == "doubt":
        return ParseFailure("doubt", lines[last].strip()[:80])
    return 1 if reading == "yes" else 0


def _holds_a_verdict(text: str) -> bool:
    return _WORD.search(text) is not None or _FLAG.search(text) is not None


def _is_bare(line: str) -> bool:
    return _BARE.fullmatch(_NOISE.sub(" ", line)) is not None


def _read_line(line: str) -> _Reading | None:
    """What one line says; two different verdicts on one line are "both"."""
    line = _BOTH_IN_BRACKETS.sub("", line)
    readings = {reading for sentence in _SENTENCE_END.split(line) if (reading := _read_sentence(sentence)) is not None}
    if not readings:
        return None
    if len(readings) == 1:
        return readings.pop()
    return "doubt" if "doubt" in readings else "both"


def _read_sentence(sentence: str) -> _Reading | None:
    flag = _FLAG.search(sentence)
    if flag is not None:
        return "yes" if flag["flag"].lower() == "true" else "no"
    words = list(_WORD.finditer(sentence))
    if not words:
        return "doubt" if _OPEN_DOUBT.search(sentence) else None
    bare = _is_bare(sentence)
    explicit = bare or _LABELLED.search(sentence) or _SHOUTED.search(sentence) or _STATED.search(sentence)
    if not explicit and (_HEDGED.search(sentence) or _DOUBLE_NEGATIVE.search(sentence)):
        return "doubt"
    talked_about = _INSTRUCTION.search(sentence) or _MENTIONED.search(sentence) or "?" in sentence
    if not explicit or (talked_about and not bare):
        return None
    meanings = {
        "no" if word["no"] else "yes" for word in words if not _ABOUT_THE_REFERENCE.match(sentence, word.start())
    }
    if not meanings:
        return None
    if len(meanings) > 1:
        return "both"
    if "?" in sentence or _DOUBT.search(sentence) or _DOUBLE_NEGATIVE.search(sentence):
        return "doubt"
    return "yes" if meanings == {"yes"} else "no"
