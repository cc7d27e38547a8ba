"""Leaked deliberation (label cot): left-over think markers, self-correction, narration of one's own process.

The phrases are those that the pattern rubric names: "let me ...", "wait", a reversal, a recount, in English and
Chinese. A polished solution without narration has none of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from foundation.responses.families import FAMILIES
from foundation.responses.markers import find_markers
from reward_workers.detectors.sentences import Sentence

MARKERS = tuple(
    sorted(
        {token for family in FAMILIES.values() for pair in family.think_markers for token in pair}
        | {"<thinking>", "</thinking>", "<thought>", "</thought>"}
    )
)
"""Think markers of every model family, and two that models write unasked."""

_PROCESS = (
    r"(?:think|see|look|check|verify|count|examine|analy[sz]e|inspect|compute|calculate|work|break|go|walk|start|begin|"
    r"try|consider|compare|identify|figure|find|solve|reason|recall|take|read|zoom|focus|trace|follow|scan|list|measure|"
    r"estimate|determine|evaluate|confirm|make sure|test|explain|double[- ]check|cross[- ]check|be careful|"
    r"re-?(?:check|count|examine|read|consider|think|calculate|compute|evaluate|visit|verify|view|assess|trace|do))\b"
)
_ADVERBS = r"(?:(?:\w+ly|first|now|just|also|then|again|quickly|try to|go ahead and|start by|begin by) ){0,3}"
_LEAD_IN = re.compile(
    r"(?:(?:okay|ok|alright|all right|well|right|so|now|first|next|then|and|but|oh|ah|yes|no|hmm+|finally|therefore|"
    r"actually|wait)\b[,.:…]?\s+){1,4}",
    re.IGNORECASE,
)
_SELF_CORRECTION = re.compile(
    r"(?:(?:oh|no|but|ah|hmm+)[,.]? ){0,2}wait(?:[,.?…—]| (?:no|actually|let me|i think|that(?:'s| is)(?: not| wrong)))"
    r"|wait a (?:second|minute|moment)[,.!…—]"
    r"|hold on[,.!…—]"
    r"|(?:(?:but|oh|and|so)[,.]? )?hmm+\b"
    r"|(?:let me|let's|let us|i (?:need|have|should|want|ought) to|i should|i'll|i will) "
    + _ADVERBS
    + r"(?:double[- ]check|"
    r"re-?(?:check|count|examine|read|consider|think|calculate|compute|evaluate|visit|verify|assess|trace|do)|"
    r"(?:check|count|look|verify|try|think|read|go over)\b[^.!?\n]{0,60}\bagain)"
    r"|actually,? (?:no\b|wait\b|let me|i (?:was|mis|made|need)|that(?:'s| is) (?:not|wrong)|looking)"
    r"|on second thoughts?\b|scratch that\b|strike that\b|my mistake\b|"
    r"i (?:made (?:a|an) (?:mistake|error)|mis(?:counted|read|interpreted|took|calculated)|was wrong)\b"
    r"|that(?:'s| is) not right[,.]|that (?:doesn't|does not|can't|cannot) (?:seem|look|be) right\b"
    r"|(?:double[- ]checking|re-?checking|recounting|looking again|counting again|looking more closely)\b[,.:]",
    re.IGNORECASE,
)
_WITHIN = re.compile(
    r"(?:—|–| - |\.\.\.|…|, ) ?(?:(?:oh|no|but|or),? )?wait[,.—…]|(?:—|–|\.\.\.|…) ?(?:no|scratch that|actually),",
    re.IGNORECASE,
)
_NARRATION = re.compile(
    r"(?:let me|let's|let us) "
    + _ADVERBS
    + _PROCESS
    + r"|(?:i need to|i have to|i should|i'll|i will|i must|i want to|"
    r"i'm going to|i am going to) " + _ADVERBS + _PROCESS,
    re.IGNORECASE,
)
_START_ZH = r"(?:^|[。！？!?；;\n…])[ \t]{0,4}"
_CLAUSE_ZH = r"(?:^|[。！？!?；;，,\n…])[ \t]{0,4}"
_LOOK_ZH = r"(?:想|看|数|算|检查|确认|核对|思考|计算"
_SELF_CORRECTION_ZH = re.compile(
    _START_ZH + r"(?:(?:嗯|哦|啊|不|但是|但|可是)[，,]? ?)?(?:等等|等一下|等下|且慢)(?=[，,。.！!？?…—我这那不好应])"
    r"|[。！？!?；;\n…][ \t]{0,4}(?:哦|不|啊)?[，,]? ?不对[，,！!…—]"
    r"|(?:让我们?|我)(?:们)?(?:需要|应该|得|要|来|再|先)*(?:再|重新)(?:仔细|认真)?" + _LOOK_ZH + r"|验证|审视|考虑|读)"
    r"|" + _CLAUSE_ZH + r"(?:再|重新)(?:仔细)?" + _LOOK_ZH + r"|审视|考虑)(?:一下|一遍|一次|想|看|看看)"
    r"|我(?:刚才|刚刚|之前|好像|可能|似乎)*(?:看|算|数|弄|搞|想|读|理解)错了"
    r"|(?:刚才|刚刚)(?:看|算|数|弄|搞|想|读)错了"
)
_NARRATION_ZH = re.compile(
    r"让(?:我|我们|咱们)(?:先|来|仔细|一起|逐一|逐个|逐步|一步一步|一步步|慢慢|认真|好好|首先|地)*"
    + _LOOK_ZH
    + r"|验证|分析|梳理|回顾|观察|比较|找)"
    r"|" + _CLAUSE_ZH + r"我(?:先|来|需要|得|要|应该)+(?:仔细|逐一|逐个|一个一个)*" + _LOOK_ZH + r"|观察)"
    r"|" + _START_ZH + r"(?:嗯|唔|呃)[，,。…]"
    r"|" + _CLAUSE_ZH + r"仔细(?:想想|看看|一想|一看)"
)


def find_deliberation(visible: str, spoken: str, sentences: Sequence[Sentence]) -> str | None:
    """The strongest sign of leaked deliberation: ``think_marker``, ``self_correction`` or ``narration``; else None.

    Args:
        visible: the whole visible response; a marker that is only talked about or stands in code does not count.
        spoken: the text without its quotations; sentences: those of `spoken`.
    """
    if any(not marker.in_sentence for marker in find_markers(visible, MARKERS)):
        return "think_marker"
    if corrects_itself(spoken, sentences):
        return "self_correction"
    if _NARRATION_ZH.search(spoken) or any(_starts(_NARRATION, sentence.text) for sentence in sentences):
        return "narration"
    return None


def corrects_itself(spoken: str, sentences: Sequence[Sentence]) -> bool:
    """Whether something said is taken back or done again."""
    if _SELF_CORRECTION_ZH.search(spoken) or _WITHIN.search(spoken):
        return True
    return any(_starts(_SELF_CORRECTION, sentence.text) for sentence in sentences)


def _starts(pattern: re.Pattern[str], sentence: str) -> bool:
    """Whether a sentence starts with the pattern, also behind a lead-in such as "Okay, so"."""
    text = sentence.replace("’", "'")
    if pattern.match(text):
        return True
    lead_in = _LEAD_IN.match(text)
    return lead_in is not None and pattern.match(text, lead_in.end()) is not None
