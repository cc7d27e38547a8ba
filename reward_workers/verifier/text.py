"""Words: free text, yes/no, document text (policy 8, 12). Rules never prove open text wrong."""

from __future__ import annotations

import re

from reward_workers.verifier.outcome import Outcome

_WORDS_OF_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen"
    " half halves third thirds quarter quarters fourth fourths fifth fifths sixth sixths seventh eighth ninth tenth"
    " tenths first second single double triple pair couple twice thrice none nil nothing no nobody never infinity"
    " infinite once both all"
)
_NUMBER_WORDS = frozenset(_WORDS_OF_NUMBERS.split())
_HAN_NUMBERS = set("零〇一二三四五六七八九十百千万亿两半双无")
_ROMAN = re.compile(r"[IVXLCDM]+")
_WORD = re.compile(r"[^\W\d_]+")
_MONTH = re.compile(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b", re.IGNORECASE)
_WORD_END = re.compile(r"[^\W\d_]{3,}[!?]+\Z")

_YES_NO = {
    "yes": ("english", 1), "no": ("english", 0), "true": ("truth", 1), "false": ("truth", 0),
    "是": ("chinese", 1), "否": ("chinese", 0), "对": ("chinese_right", 1), "错": ("chinese_right", 0),
}  # fmt: skip
_LEADING = re.compile(r"\W*(yes|no|true|false|是|否|对|错)(?![A-Za-z])", re.IGNORECASE)
_HEDGE = re.compile(r"\W*(?:yes|no|true|false)\W*(?:and|or|but|also)?\W*(?:yes|no|true|false)\W*", re.IGNORECASE)
_CLAUSE = re.compile(r"\s*(?:[,.;:!?(\-]|(?:because|since|as|it|they|he|she|there|the|this)\b|\Z)", re.IGNORECASE)


def text_key(text: str) -> str:
    """What free text is compared by: case, spaces, a trailing stop and quotes are dropped, nothing else."""
    key = " ".join(text.split()).casefold()
    if key[-1:] in ("!", "?") and _WORD_END.search(key[-60:]):
        key = key.rstrip("!?")
    return key.rstrip(".,;:").strip("\"'").strip()


def compare_text(answer: str, reference: str) -> Outcome:
    """1 when the normalised texts are the same; otherwise unresolved, never 0."""
    if text_key(answer) == text_key(reference):
        return Outcome(1, "same_text")
    return Outcome(None, "other_text")


def compare_yes_no(answer: str, reference: str) -> Outcome:
    """The leading token decides; both tokens as alternatives are a hedge; another pair of words is a translation."""
    expected = _LEADING.match(reference)
    if expected is None:
        return Outcome(None, "reference_not_yes_no")
    if _HEDGE.fullmatch(answer):
        return Outcome(0, "hedge")
    found = _LEADING.match(answer)
    if found is None or not _CLAUSE.match(answer, found.end()):
        return Outcome(None, "no_yes_no_token")
    kind, value = _YES_NO[found.group(1).lower()]
    expected_kind, expected_value = _YES_NO[expected.group(1).lower()]
    if kind != expected_kind:
        return Outcome(None, "other_yes_no_words")
    return Outcome(1, "same_yes_no") if value == expected_value else Outcome(0, "other_yes_no")


def compare_document_text(answer: str, reference: str) -> Outcome:
    """Text read from a document: digits must agree; near or far text is left to a judge (ANLS is a metric)."""
    same = compare_text(answer, reference)
    if same.value == 1:
        return same
    digits, expected = _digits(answer), _digits(reference)
    if digits == expected or sorted(re.findall(r"\d+", answer)) == sorted(re.findall(r"\d+", reference)):
        return same
    if _MONTH.search(answer) or _MONTH.search(reference) or has_number_word(answer) or has_number_word(reference):
        return Outcome(None, "digits_or_words")
    return Outcome(0, "digits_differ")


def _digits(text: str) -> str:
    return "".join(character for character in text if character.isdigit())


def has_number_word(text: str) -> bool:
    """Whether the text may say a number in words: 'seven', 'half', 'VII', '七'."""
    if any(character in _HAN_NUMBERS for character in text):
        return True
    return any(
        word.lower() in _NUMBER_WORDS or (_ROMAN.fullmatch(word) and (len(word) > 1 or word == text.strip()))
        for word in _WORD.findall(text)
    )


def is_prose(text: str) -> bool:
    """Contains a word: three letters or more that are no LaTeX command, or two Han characters."""
    plain = re.sub(r"\\[a-zA-Z]+", " ", text)
    return any(len(word) >= 3 or (len(word) >= 2 and word[0] > "\u2e80") for word in _WORD.findall(plain))
