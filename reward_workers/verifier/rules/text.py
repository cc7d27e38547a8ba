"""Words: free text, yes/no, document text (policy 8, 12). Rules never prove open text wrong."""

from __future__ import annotations

import re
from fractions import Fraction

from reward_workers.verifier.rules.outcome import Outcome

_WORDS_OF_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty thirty forty fourty fifty sixty seventy eighty ninety ninty hundred thousand million"
    " billion trillion dozen half halves third thirds quarter quarters fourth fourths fifth fifths sixth sixths seventh"
    " sevenths eighth eighths ninth ninths tenth tenths eleventh twelfth twentieth hundredth hundredths thousandth"
    " thousandths first second single double triple triplet quadruple pair couple twice thrice trio none nil nothing no"
    " nobody never infinity infinite once both all dozens hundreds thousands millions score gross"
)
_FOREIGN_NUMBERS = (
    "cero uno una dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince veinte treinta"
    " cuarenta cincuenta sesenta setenta ochenta noventa cien ciento mil medio mitad tercio cuarto"
    " zéro un une deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze seize vingt trente quarante"
    " cinquante soixante cent mille demi moitié tiers quart"
    " null eins ein eine zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn"
    " siebzehn achtzehn neunzehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig hundert tausend halb"
    " hälfte drittel viertel due tre quattro cinque sei sette otto nove dieci undici dodici venti mezzo dois três"
    " quatro sete oito nove dez vinte metade"
    " nul twee vijf zes zeven negen tien twaalf noll två fyra sju åtta nio tio syv otte"
    " jeden dwa trzy cztery pięć sześć siedem osiem dziewięć dziesięć"
    " sıfır bir iki üç dört beş altı yedi sekiz dokuz yirmi yüz"
    " nol satu dua tiga empat lima enam tujuh delapan sembilan sepuluh"
    " không một hai bốn năm sáu bảy tám chín mười"
    " ноль один два три четыре пять шесть семь восемь девять десять"
)
_SAYS_ZERO = re.compile(
    r"\b(?:neither|nowhere|impossible|not possible|does not exist|empty|free|absent|missing|unchanged|constant)\b",
    re.IGNORECASE,
)
"""Words that say zero of something, which no other number does."""
_FOREIGN_COMPOUND = re.compile(
    r"(?:dieci|veinti|trenta|venti|quaranta|cinquanta)\w+|\w+(?:zehn|zig|ßig|hundert|cientos)|quatre.vingt\w*"
)
_NUMBER_WORDS = frozenset(_WORDS_OF_NUMBERS.split())
_WEAK_NUMBER_WORDS = frozenset(
    ["all", "both", "once", "first", "second", "single", "double", "score", "gross", "trio", "pair", "couple"]
)
"""Words that in a sentence seldom say a number."""
_FOREIGN_NUMBER_WORDS = frozenset(_FOREIGN_NUMBERS.split())
_FUSED_NUMBER = re.compile(rf"(?:{'|'.join(sorted(_WORDS_OF_NUMBERS.split(), key=len, reverse=True))}|and){{2,6}}")
_HAN_NUMBERS = set("零〇一二三四五六七八九十百千万亿两半双无")
_ROMAN = re.compile(r"[IVXLCDM]+")
_SMALL_ROMAN = re.compile(r"[ivxlcdm]{2,}")
_UNREAD_SCRIPT = re.compile("[\u0400-\u1dff\u3040-\u30ff\uac00-\ud7af]")
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"[^\W\d_]+")
_MONTH = re.compile(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b", re.IGNORECASE)
_AMOUNT = re.compile(r"(?:\\frac\{)?(\d{1,9})(?:\}\{|/)(\d{1,9})\}?|(\d{1,60}(?:,\d{3})*(?:\.\d{1,60})?)\s?(%)?")
_MAX_AMOUNTS = 200
_SCALE_OR_HALF = re.compile(r"(?<=\d)\s?([ap]\.?m|[kmb]n?)\b", re.IGNORECASE)
_WORD_END = re.compile(r"[^\W\d_]{3,}[!?]+\Z")

_YES_NO = {
    **dict.fromkeys(("yes", "yep", "yeah", "yup"), ("english", 1)),
    **dict.fromkeys(("no", "nope", "nah"), ("english", 0)),
    "true": ("truth", 1), "false": ("truth", 0), "not true": ("truth", 0), "untrue": ("truth", 0),
    "correct": ("correct", 1), "incorrect": ("correct", 0), "not correct": ("correct", 0), "wrong": ("correct", 0),
    "是": ("chinese", 1), "否": ("chinese", 0), "不是": ("chinese", 0),
    "对": ("chinese_right", 1), "没错": ("chinese_right", 1), "错": ("chinese_right", 0), "不对": ("chinese_right", 0),
    "正确": ("chinese_correct", 1), "错误": ("chinese_correct", 0), "不正确": ("chinese_correct", 0),
}  # fmt: skip
"""Word -> (which pair of words, 1 for yes); words of two pairs are a translation or another question."""
_YES_OR_NO = "|".join(sorted(_YES_NO, key=len, reverse=True)).replace(" ", r"\s+")
_STATEMENT = r"(?:(?:it|that|this|the\s+(?:statement|claim|answer))(?:\s+is|'s)|(?:my|the)\s+answer\s*:)\s+"
_LEADING = re.compile(rf"[\s\"'(\[{{*_.,:;-]*(?:{_STATEMENT})?({_YES_OR_NO})(?![A-Za-z])", re.IGNORECASE)
YES_NO_ALONE = re.compile(rf"(?:{_YES_OR_NO})的?[.。]?", re.IGNORECASE)
"""A text that is nothing but one of these words."""
_HEDGE = re.compile(
    rf"\W*+({_YES_OR_NO})\W*+(?:and|or|but|also|和|或|又|也)?\W*+({_YES_OR_NO})\W*+",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    rf"(?:(?:wait|actually|i mean|sorry|rather|correction|should|其实|应该|应为|而是).*?|[,.;:!?-]\s*(?:{_STATEMENT})?)"
    rf"(?<![A-Za-z])({_YES_OR_NO})的?\s*(?=[,.;:!?-]|\Z)",
    re.IGNORECASE | re.DOTALL,
)
"""A yes or no after the leading one, as a correction or as a clause of its own."""
_CLAUSE = re.compile(
    r"的?\**\s*(?:[,.;:!?()\-]|(?:because|since|as|it|they|he|she|there|the|this)\b|\Z)", re.IGNORECASE
)


def text_key(text: str) -> str:
    """The form in which free text is compared: without case, spaces, a trailing stop and quotes."""
    key = " ".join(text.split()).casefold()
    if key[-1:] in ("!", "?") and _WORD_END.search(key[-60:]):
        key = key.rstrip("!?")
    key = key.rstrip(".,;:")
    quoted = len(key) > 1 and key[0] == key[-1] and key[0] in "\"'"  # one alone may be a prime
    return key[1:-1].strip() if quoted else key.strip()


def compare_text(answer: str, reference: str) -> Outcome:
    """1 when the normalised texts are the same; otherwise unresolved, never 0."""
    if text_key(answer) == text_key(reference):
        return Outcome(1, "same_text")
    return Outcome(None, "other_text")


def compare_yes_no(answer: str, reference: str) -> Outcome:
    """The first word decides. "Yes or no" is a hedge. Other words for yes (true, 是) are left open."""
    expected = _LEADING.match(reference)
    if expected is None or not _CLAUSE.match(reference, expected.end()):
        return Outcome(None, "reference_not_yes_no")
    both = _HEDGE.fullmatch(answer)
    if both is not None:
        (kind, value), (other_kind, other_value) = _said(both.group(1)), _said(both.group(2))
        if kind == other_kind and value != other_value:
            return Outcome(0, "hedge")
    found = _LEADING.match(answer)
    if found is None or not _CLAUSE.match(answer, found.end()):
        return Outcome(None, "no_yes_no_token")
    kind, value = _said(found.group(1))
    expected_kind, expected_value = _said(expected.group(1))
    if kind != expected_kind:
        return Outcome(None, "other_yes_no_words")
    if any(_said(word)[1] != value for word in _TAKEN_BACK.findall(answer, found.end())):
        return Outcome(None, "no_yes_no_token")
    return Outcome(1, "same_yes_no") if value == expected_value else Outcome(0, "other_yes_no")


def _said(word: str) -> tuple[str, int]:
    """Pair of words and value of one of them."""
    return _YES_NO[" ".join(word.lower().split())]


def compare_document_text(answer: str, reference: str) -> Outcome:
    """Text read from a document: digits must agree; near or far text is left to a judge (ANLS is a metric).

    Digits that say the same in another way (1,250 and 1,250.00, 05/03 and 5/3, 7 PM and 19:00) are left to it too.
    """
    same = compare_text(answer, reference)
    if same.value == 1:
        return same
    digits, expected = _digits(answer), _digits(reference)
    if digits == expected or _whole_numbers(answer) == _whole_numbers(reference):
        return same
    if _amounts(answer) == _amounts(reference):
        return Outcome(None, "digits_or_notation")
    words, expected_words = _words_for_digits(answer), _words_for_digits(reference)
    if words != expected_words:
        return Outcome(None, "digits_or_words")
    return Outcome(0, "digits_differ")


def _digits(text: str) -> str:
    return "".join(character for character in text if character.isdigit())


def _whole_numbers(text: str) -> list[str]:
    return sorted(number.lstrip("0") for number in re.findall(r"\d+", re.sub(r":00(?!\d)", "", text)))


def _amounts(text: str) -> list[Fraction]:
    """Values of the numbers in a text, with thousands separators, percent signs and simple fractions read."""
    found = []
    for top, bottom, number, percent in _AMOUNT.findall(text)[:_MAX_AMOUNTS]:
        if top:
            found.append(Fraction(int(top), int(bottom) or 1))
        else:
            found.append(Fraction(number.replace(",", "")) / (100 if percent else 1))
    return sorted(found)


def _words_for_digits(text: str) -> list[str]:
    """Words that may stand for digits: numbers, months, halves of the day, and letters that scale a number."""
    words = [word.lower() for word in _WORD.findall(text) if _MONTH.fullmatch(word) or _is_number_word(word, text)]
    return sorted(words + [found.lower() for found in _SCALE_OR_HALF.findall(text)])


def has_number_word(text: str) -> bool:
    """Whether the text may say a number in words: 'seven', 'half', 'VII', 'siete', '七', or in a script unread here."""
    if any(character in _HAN_NUMBERS for character in text):
        return True
    if not text.isascii() and _UNREAD_SCRIPT.search(text) and not _DIGIT.search(text):
        return True
    return any(_is_number_word(word, text) for word in _WORD.findall(text))


def says_zero(text: str) -> bool:
    """Whether the text may say zero without a number word: 'impossible' as a probability, 'neither' as a count."""
    return _SAYS_ZERO.search(text) is not None


def _is_number_word(word: str, text: str) -> bool:
    lower = word.lower()
    if lower in _WEAK_NUMBER_WORDS and text.count(" ") > 2:
        return False
    if lower in _NUMBER_WORDS or (6 <= len(word) <= 60 and _FUSED_NUMBER.fullmatch(lower)):
        return True
    if any(character in _HAN_NUMBERS for character in word):
        return True
    if text.count(" ") <= 2 and (lower in _FOREIGN_NUMBER_WORDS or _FOREIGN_COMPOUND.fullmatch(lower)):
        return True
    whole = len(word) == len(text.strip())
    return bool(_ROMAN.fullmatch(word) and (len(word) > 1 or whole)) or bool(whole and _SMALL_ROMAN.fullmatch(word))


def is_prose(text: str) -> bool:
    """Contains a word: three letters or more that are no LaTeX command, or two Han characters."""
    plain = re.sub(r"\\[a-zA-Z]+", " ", text)
    return any(len(word) >= 3 or (len(word) >= 2 and word[0] > "\u2e80") for word in _WORD.findall(plain))
