"""Performative reasoning (label pr) in the one form that a rule can see: an analytic wrapper and no more.

"After a careful analysis, the answer is clear. \\boxed{3}" names no object, text, quantity or position. Whether named
evidence supports a conclusion is beyond any rule, so everything else abstains, except a bare answer, which performs
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from reward_workers.detectors.sentences import Sentence

Shape = Literal["wrapper", "bare", "other"]

_ADJECTIVE = (
    r"(?:(?:careful|thorough|detailed|close|comprehensive|systematic|rigorous|deep|in-depth|full|complete|logical|visual|"
    r"step-by-step|available|given|definite|clear|final|correct|certain|following|above|this|a|an|the|my|our) )*"
)
_ANALYSIS = (
    r"(?:analysis|examination|inspection|consideration|review|evaluation|observation|assessment|reasoning|evidence|"
    r"information|investigation|study)"
)
_OF = (
    r"(?: of (?:the |all |this |given |available |visual )*(?:image|picture|figure|diagram|photo|chart|question|"
    r"problem|evidence|information|scene|details|elements|content))?"
)
_RESULT = r"(?:answer|result|conclusion|solution)"
_EMPTY = (
    rf"(?:the {_RESULT} (?:is (?:very |quite )?(?:clear|obvious|evident|apparent|straightforward|certain|as follows)|"
    r"follows|becomes (?:clear|apparent|evident)|can be (?:determined|found|deduced|identified|derived|confirmed)"
    r"(?: with (?:certainty|confidence))?)"
    r"|(?:we|i|one) (?:can |may |could )?(?:conclude|determine|deduce|arrive at|reach|derive|find|obtain) "
    rf"{_ADJECTIVE}{_RESULT}"
    rf"|it is (?:clear|evident|obvious) what {_ADJECTIVE}{_RESULT} is)"
)
_WRAPPER = re.compile(
    rf"(?:after|based on|upon|following|from|through|by|with|using|given) {_ADJECTIVE}{_ANALYSIS}{_OF},? {_EMPTY}"
    rf"|{_ADJECTIVE}{_ANALYSIS}{_OF} (?:leads|points|brings|guides)(?: us| me)? to {_ADJECTIVE}{_RESULT}"
    rf"|{_ADJECTIVE}{_ANALYSIS}{_OF} (?:reveals|shows|confirms|gives|yields|supports|provides) {_ADJECTIVE}{_RESULT}"
    r"|(?:经过|通过|基于|根据)(?:对.{0,12}的)?(?:仔细|全面|认真|深入|详细|综合|系统|严谨|逻辑|缜密)*的?"
    r"(?:分析|观察|检查|推理|思考|研究|判断|审视)(?:之?后)?[，,]?"
    r"(?:(?:我们?)?(?:可以|可|能够)?(?:得出|得到|确定)(?:了)?(?:以下|如下|最终|明确的|正确的?)?(?:结论|答案|结果)"
    r"|(?:答案|结论|结果)(?:很|十分|非常|已经|是|就)*(?:明显|清楚|明确|清晰|显而易见)的?)",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"(?:(?:so|thus|hence|therefore)[, ]+)?(?:the |final |correct |my )*answer(?: is)? ?:?(?: \S{1,20}){0,3}"
    r"|(?:所以|因此|故)?[，,]?(?:最终|正确)?答案(?:是|为|选)?[:：]?.{0,12}|\S{1,12}",
    re.IGNORECASE,
)
_BOXED = re.compile(r"\${0,2}\\boxed\s*\{[^{}]{0,80}(?:\{[^{}]{0,80}\}[^{}]{0,80}){0,4}\}\${0,2}")
_END = ".!。！:：,，$ "


def shape_of(sentences: Sequence[Sentence]) -> Shape:
    """``wrapper``: analytic sentences without content; ``bare``: one answer and no more; ``other``: anything else."""
    rests = [_BOXED.sub("", sentence.text).strip(_END) for sentence in sentences]
    wrappers = sum(_WRAPPER.fullmatch(rest) is not None for rest in rests)
    answers = sum(rest == "" or _BARE.fullmatch(rest) is not None for rest in rests)
    if wrappers + answers < len(rests) or not rests:
        return "other"
    if wrappers:
        return "wrapper"
    return "bare" if len(rests) == 1 else "other"
