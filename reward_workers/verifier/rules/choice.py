"""Multiple choice (policy 7): a letter in any wrapper, or letter + delimiter + option text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reward_workers.verifier.rules.normalize import canonical, tight
from reward_workers.verifier.rules.outcome import Outcome

_PREFIX = re.compile(
    r"\A(?:the\s+)?(?:correct\s+)?(?:final\s+)?(?:answers?|options?|choices?|故?选项|答案|故?选择?)(?:\s+(?:is|are)|是|为)?\s*:?\s*",
    re.IGNORECASE,
)
_SUFFIX = re.compile(r"\s*(?:选项|项)\Z")
_LETTER = re.compile(r"[(\[【「]?\s*([A-Za-z])\s*[)\]】」.:]?")
_LETTER_AND_TEXT = re.compile(
    r"(?:[(\[]\s*([A-Za-z])\s*[)\]](?![+'!]|\s*[\^_=<>*/])\s*[.:,-]?|([A-Za-z])\s*[).:,\]]|([A-Z])\s+-|([A-Z])\s(?=\())\s*(.+)",
    re.DOTALL,
)
_FUSED = re.compile(r"[A-J]{2,10}")
_SEPARATOR = r"(?:[\s,;:.&/()\[\]{}【】「」\\\"'-]|and|or|和|或|与|及)+"
_SPREAD = re.compile(rf"[\s(\[{{【「\\]*[A-Ja-j](?:{_SEPARATOR}[A-Ja-j](?![A-Za-z]))+[\s)\]}}】」.,;:\\]*")
_DOUBT = re.compile(
    r"\W*(?:no|not|wait|maybe|perhaps|possibly|but|actually|rather)(?![a-z]).*?(?<![A-Za-z])(?-i:[A-J])(?![A-Za-z])"
    r"|\W*(?:or|and)(?![a-z])|\W*(?:或|还是)|\W*(?:而|并)?(?:不是|不选|非)\s*[(\[]?(?-i:[A-J])(?![A-Za-z])"
    r"|\W*(?:is|was|can)(?:n't|not| not| never)|(?:is\s+|\W*[(\[]\s*)(?:wrong|incorrect|false|not)(?![a-z])",
    re.IGNORECASE | re.DOTALL,
)
"""Text beside a letter that takes it back or names another one: ``B (or maybe C)``, ``(B) is wrong``."""
_LABEL = re.compile(r"(?<!\w)(?:[(\[]\s*([A-J])\s*[)\]]|([A-J])[).:])")
_LETTER_THEN_LETTERS = re.compile(r"[(\[]?[A-Ja-j][)\].:]+\s+(?![(\[])[A-Ja-j](?![A-Za-z)\].:])")


def letter_of(text: str) -> tuple[str, str] | None:
    """(letter, option text) of a single choice; option text '' when there is only the letter. None without a letter."""
    text = _SUFFIX.sub("", _PREFIX.sub("", text)).strip()
    match = _LETTER.fullmatch(text)
    if match:
        return match.group(1).upper(), ""
    match = _LETTER_AND_TEXT.fullmatch(text)
    if match and not letters_of(text):
        letter = next(filter(None, match.groups()))
        return letter.upper(), match.group(5).strip()
    return None


def letters_of(text: str) -> set[str] | None:
    """All letters of an answer made of two letters or more and separators; None for a formula or anything else."""
    text = _SUFFIX.sub("", _PREFIX.sub("", text)).strip().replace("\\", " ")
    if _FUSED.fullmatch(text):
        return set(text)
    if _SPREAD.fullmatch(text):
        return {letter.upper() for letter in re.findall(r"[A-Ja-j]", re.sub(r"and|or", " ", text))}
    return None


def compare_choice(answer: str, reference: str, options: Sequence[str] | None = None) -> Outcome:
    """Single choice. Options, when the row has them, give the text of each letter in order."""
    expected = letter_of(reference)
    if expected is None:
        several_expected = letters_of(reference) is not None
        return compare_multi_choice(answer, reference) if several_expected else Outcome(None, "reference_not_a_letter")
    several = letters_of(answer)
    if several is not None and len(several) > 1:
        return Outcome(None, "choice_by_content") if _may_be_content(answer) else Outcome(0, "two_choices")
    found = letter_of(answer)
    if found is None:
        return _by_content(answer, expected[0], options)
    if _contradicts(found, expected, options):
        return Outcome(None, "letter_and_text_disagree")
    if found[0] == expected[0]:
        return Outcome(1, "same_choice")
    if found[0] not in _letters_on_offer(expected[0], options) or (not found[1] and answer.strip() in _QUANTITIES):
        return Outcome(None, "choice_by_content")
    return Outcome(0, "other_choice")


def _letters_on_offer(expected: str, options: Sequence[str] | None) -> str:
    """Letters that may name an option; others are names of quantities, which an option may be."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return letters[: max(len(options) if options else 10, letters.index(expected) + 1)]


_QUANTITIES = frozenset("efghij")
"""Small letters that name a constant or quantity at least as often as an option."""


def _may_be_content(answer: str) -> bool:
    """'A) B and C' may be option A with the text 'B and C', 'FACE' a word, 'A - B' a formula."""
    if re.fullmatch(r"[A-J]\s*[-/]\s*[A-J]", answer):
        return True
    fused = re.fullmatch(r"[A-J]{3,}", answer) is not None
    return bool(_LETTER_THEN_LETTERS.match(answer)) or (fused and list(answer) != sorted(set(answer)))


def compare_multi_choice(answer: str, reference: str) -> Outcome:
    """Several letters: equal as sets, in any order and with any separators."""
    expected, found = _letter_set(reference), _letter_set(answer)
    if expected is None:
        return Outcome(None, "reference_not_letters")
    if found is None:
        return Outcome(None, "choice_by_content")
    return Outcome(1, "same_choices") if found == expected else Outcome(0, "other_choices")


def _letter_set(text: str) -> set[str] | None:
    several = letters_of(text)
    if several is not None:
        return several
    one = letter_of(text)
    return {one[0]} if one is not None and not one[1] else None


def _content_key(text: str) -> str:
    return tight(canonical(text)).casefold()


def _by_content(answer: str, letter: str, options: Sequence[str] | None) -> Outcome:
    if options:
        keys = [_content_key(_option_text(option)) for option in options]
        matches = [chr(ord("A") + index) for index, key in enumerate(keys) if key == _content_key(answer)]
        if len(matches) == 1:
            return Outcome(1, "same_option_text") if matches[0] == letter else Outcome(0, "other_option_text")
    return Outcome(None, "choice_by_content")


def _option_text(option: str) -> str:
    found = letter_of(canonical(option))
    return found[1] if found is not None and found[1] else option


def _contradicts(found: tuple[str, str], expected: tuple[str, str], options: Sequence[str] | None) -> bool:
    """The letter says one option and the text beside it says another, or names another letter."""
    letter, text = found
    if not text:
        return False
    key = _content_key(text)
    if options:
        keys = [_content_key(_option_text(option)) for option in options]
        index = ord(letter) - ord("A")
        if index < len(keys) and keys[index] == key:
            return False
        return key in keys or _taken_back(text, letter, expected[0])
    if expected[1] and key == _content_key(expected[1]):
        return letter != expected[0]
    return (letter == expected[0] and bool(expected[1])) or _taken_back(text, letter, expected[0])


def _taken_back(text: str, letter: str, expected: str) -> bool:
    """Whether the text doubts its letter, or names a letter that would change the verdict."""
    others = {label for found in _LABEL.findall(text) for label in found if label} - {letter}
    return _DOUBT.match(text) is not None or (bool(others) if letter == expected else expected in others)
