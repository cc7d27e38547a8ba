"""Repetition (label rep): the same sentence, the same passage, a loop. One closing restatement is none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from reward_workers.detectors.sentences import CJK, Sentence

_TOKEN = re.compile(rf"[{CJK}]|[^\W_]+(?:'[^\W_]+)?")
_WORD = re.compile(rf"[^\W\d_{CJK}]+|[{CJK}]")
_LEAD_IN = re.compile(
    r"(?:(?:so|thus|hence|therefore|indeed|again|overall|clearly|finally|to summarize|"
    r"in (?:conclusion|summary|short|other words)|that is)\b[,:]?\s*"
    r"|(?:所以|因此|综上所述|综上|总之|也就是说|即|可见|再次)[，,：:]?\s*)+",
    re.IGNORECASE,
)
_FINAL = re.compile(r"\\boxed|\banswer\b|答案|故选|应选", re.IGNORECASE)
_PUNCTUATION = re.compile(rf"[^\w{CJK}+*/^=<>%-]+")
_CALCULATES = re.compile(r"[=<>≤≥≈]")

MIN_WORDS, MIN_CJK = 3, 6
"""A shorter sentence may stand twice: a heading, a cell, an option."""
BLOCK_WORDS, BLOCK_CJK = 12, 30
"""Two sentences in a row with so many words may not come again."""
OFTEN = 3
"""Times that one sentence may not stand anywhere in a response."""
GRAM_WORDS, GRAM_CJK = 12, 24
LOOP_WORDS, LOOP_CJK, LOOP_SHARE = 40, 80, 0.3
"""Tokens, and share of all tokens, that repeat an earlier run of GRAM tokens word for word."""
SAME_TOKEN = 8


def find_repetition(spoken: str, sentences: Sequence[Sentence]) -> str | None:
    """What is repeated: ``sentence``, ``passage``, ``loop``; None where nothing is.

    - sentence: one sentence twice in a row (a lead-in such as "So," does not make it another), or three times anywhere.
      Statements of the answer are left out of "twice": one closing restatement is allowed. Calculations are left
      out: the same one may serve several items.
    - passage: two sentences in a row that stand together again later.
    - loop: runs of words that were there before make up a large part of the response, or one word many times in a row.
    """
    plain = [(_plain(sentence.text), sentence) for sentence in sentences]
    said = [
        (key, sentence)
        for key, sentence in plain
        if _is_long(key, MIN_WORDS, MIN_CJK) and not _CALCULATES.search(sentence.text)
    ]
    counts = Counter(key for key, sentence in said if not sentence.listed)
    if counts and max(counts.values()) >= OFTEN:
        return "sentence"
    for (key, one), (following, other) in pairwise(plain):
        allowed = one.listed or other.listed or _FINAL.search(one.text) or _CALCULATES.search(one.text)
        if key == following and not allowed and _is_long(key, MIN_WORDS, MIN_CJK):
            return "sentence"
    if _comes_again([key for key, _ in said]):
        return "passage"
    return "loop" if _loops(spoken) else None


def _plain(text: str) -> str:
    lead_in = _LEAD_IN.match(text)
    rest = text[lead_in.end() :] if lead_in else text
    return _PUNCTUATION.sub(" ", rest.casefold()).strip()


def _is_long(key: str, words: int, cjk: int) -> bool:
    """Enough words, or enough Chinese characters; numbers do not count."""
    tokens = _WORD.findall(key)
    chinese = _n_chinese(tokens)
    return chinese >= cjk or len(tokens) - chinese >= words


def _n_chinese(tokens: Sequence[str]) -> int:
    return sum("\u3400" <= token <= "\u9fff" for token in tokens)


def _comes_again(keys: Sequence[str]) -> bool:
    first: dict[tuple[str, str], int] = {}
    for index, pair in enumerate(pairwise(keys)):
        seen = first.setdefault(pair, index)
        if index >= seen + 2 and pair[0] != pair[1] and _is_long(" ".join(pair), BLOCK_WORDS, BLOCK_CJK):
            return True
    return False


def _loops(spoken: str) -> bool:
    tokens = _TOKEN.findall(spoken.casefold())
    run = 1
    for before, token in pairwise(tokens):
        run = run + 1 if token == before and not token[0].isdigit() else 1
        if run >= SAME_TOKEN:
            return True
    chinese = 2 * _n_chinese(tokens) > len(tokens)
    n, least = (GRAM_CJK, LOOP_CJK) if chinese else (GRAM_WORDS, LOOP_WORDS)
    seen: set[tuple[str, ...]] = set()
    repeated = covered = 0
    for start in range(len(tokens) - n + 1):
        gram = tuple(tokens[start : start + n])
        if gram in seen and any(not token.isdigit() for token in gram):
            repeated += start + n - max(start, covered)
            covered = start + n
        seen.add(gram)
    return repeated >= least and repeated >= LOOP_SHARE * len(tokens)
