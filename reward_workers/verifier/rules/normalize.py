r"""One canonical spelling for answers: Unicode, LaTeX wrappers, spacing, fraction and exponent shorthand.

Two answers with the same canonical text say the same thing. Nothing that carries meaning (digits, operators, signs,
letters, case) is dropped. In canonical text ``*`` is any multiplication sign, ``/`` any division sign and ``°`` any
degree mark.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from reward_workers.verifier.rules.extract import closing_brace

_CHARACTERS = str.maketrans(
    {
        "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-",
        "×": "*", "⋅": "*", "·": "*", "∙": "*", "÷": "/", "⁄": "/", "∶": ":",
        "≤": r"\le ", "≥": r"\ge ", "⩽": r"\le ", "⩾": r"\ge ", "≠": r"\ne ", "≈": r"\approx ",
        "∞": r"\infty ", "∈": r"\in ", "∪": r"\cup ", "∩": r"\cap ", "∅": r"\emptyset ", "±": r"\pm ",
        "√": r"\sqrt ", "∑": r"\sum ", "∏": r"\prod ", "∫": r"\int ", "∣": "|",
        "π": r"\pi ", "α": r"\alpha ", "β": r"\beta ", "γ": r"\gamma ", "δ": r"\delta ", "θ": r"\theta ",
        "λ": r"\lambda ", "μ": r"\mu ", "φ": r"\phi ", "ω": r"\omega ", "σ": r"\sigma ", "ρ": r"\rho ", "Δ": r"\Delta ",
        "ℤ": r"\mathbb{Z}", "ℝ": r"\mathbb{R}", "ℕ": r"\mathbb{N}", "ℚ": r"\mathbb{Q}",
        "½": r"\frac{1}{2}", "⅓": r"\frac{1}{3}", "⅔": r"\frac{2}{3}", "¼": r"\frac{1}{4}", "¾": r"\frac{3}{4}",
        "⅕": r"\frac{1}{5}", "⅖": r"\frac{2}{5}", "⅗": r"\frac{3}{5}", "⅘": r"\frac{4}{5}", "⅙": r"\frac{1}{6}",
        "⅚": r"\frac{5}{6}", "⅛": r"\frac{1}{8}", "⅜": r"\frac{3}{8}", "⅝": r"\frac{5}{8}", "⅞": r"\frac{7}{8}",
        "、": ",", "；": ";", "º": "°", "˚": "°", "℃": "°C", "℉": "°F", "。": ".",
        "“": '"', "”": '"', "‘": "'", "’": "'", "′": "'",
    }
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\u202a\u202b\u202c\u202d\u202e\ufeff", "")
)  # fmt: skip
_SUPERSCRIPT = re.compile("[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ]+")
_SUPERSCRIPT_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ⁺⁻", "0123456789n+-")
_SUBSCRIPT = re.compile("[₀₁₂₃₄₅₆₇₈₉]+")
_SUBSCRIPT_DIGITS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")

_MAX_OUTER_BRACES = 4
_ESCAPED_DOLLAR = "\ue000"
_ROW_BREAK = "\ue001"
_DOLLAR_PAIR = re.compile(r"\$([^$]*)\$(?!\d)")
_AMOUNT_AND_SEPARATOR = re.compile(r"\d[\d.,]*\s*(?:[,;/-]|and|or|to)\s*")
_FONT = (
    r"\\(?:text|textbf|textit|textrm|textsf|texttt|textnormal|mathrm|mathbf|mathit|mathsf|mathtt|mbox|hbox|operatorname"
    r"|emph|bf|rm|boldsymbol|underline|ensuremath)\*?\s*\{"
)
_TEXT_MACRO = re.compile(_FONT + r"([^{}]*)\}")
_OUTER_MACRO = re.compile(_FONT)
_REWRITES: tuple[tuple[str, re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = tuple(
    (needle, re.compile(pattern), replacement)
    for needle, pattern, replacement in (
        ("t", r"\\(?:left|right)\s*\.", " "),
        ("\\", r"\\(?:left|right|[bB]igg?[lrm]?|displaystyle|textstyle|limits)(?![a-zA-Z])", ""),
        ("\\", r"\\(?:[lL]arge|LARGE|[hH]uge|small|bf|rm|it|mathbf|mathrm|mathit)(?![a-zA-Z])(?!\s*\{)", ""),
        ("color", r"\\(?:text)?color\s*\{[a-zA-Z]+\}", ""),
        ("brace", r"\\([lr])brace(?![a-zA-Z])", lambda match: "\\{" if match.group(1) == "l" else "\\}"),
        ("", r"(?<=\d)(?:\\[,;:! ]|~)+(?=\d{3}(?!\d))", ""),
        (",", r"(?<=\d)(?:\{,\}|\\!,|,\\!)(?=\d{3}(?!\d))", ","),
        ("\\!", r"\\!", ""),
        ("", r"\\[,;:> ]|\\q?quad(?![a-zA-Z])|~", " "),
        ("\\", r"\\(?<!\\\\)[()\[\]]", " "),
        ("frac", r"\\(?:[dtcs]|nice)frac(?![a-zA-Z])", r"\\frac"),
        ("over", r"\{([^{}]{0,100})\\over(?![a-zA-Z])([^{}]{0,100})\}", r"\\frac{\1}{\2}"),
        ("binom", r"\\[dt]binom(?![a-zA-Z])", r"\\binom"),
        ("\\", r"\\(?:cdot|times)(?![a-zA-Z])", " * "),
        ("\\div", r"\\div(?![a-zA-Z])", " / "),
        ("\\le", r"\\(?:leq?|leqslant)(?![a-zA-Z])", r"\\le "),
        ("\\ge", r"\\(?:geq?|geqslant)(?![a-zA-Z])", r"\\ge "),
        ("\\ne", r"\\neq?(?![a-zA-Z])", r"\\ne "),
        ("\\lt", r"\\lt(?![a-zA-Z])", " < "),
        ("\\gt", r"\\gt(?![a-zA-Z])", " > "),
        ("\\", r"\\(?:mid|vert|lvert|rvert)(?![a-zA-Z])", " | "),
        ("empty", r"\\empty(?![a-zA-Z])", r"\\emptyset"),
        ("\\{", r"\\\{\s*\\\}", r"\\emptyset "),
        ("varnothing", r"\\varnothing(?![a-zA-Z])", r"\\emptyset"),
        ("\\colon", r"\\colon(?![a-zA-Z])", ":"),
        ("circ", r"\^\s*(?:\{\s*\\circ\s*\}|\\circ(?![a-zA-Z]))", "°"),
        ("degree", r"\\degree(?![a-zA-Z])", "°"),
        ("°", r"\^\s*°", "°"),
        ("^", r"(?<=\d)\s*\^\s*(?:\{\s*o\s*\}|o(?![a-zA-Z]))", "°"),
        ("infty", r"(?<![\w)}\]\s])\s*\+\s*\\infty|\A\+\s*\\infty", lambda match: match.group().replace("+", "")),
    )
)
_PERCENT_OR_DEGREES = re.compile(r"\\%|\^(?:\\circ|\{\\circ\})\Z")
_LATEX_SIGN = re.compile(r"[\\^_~{\ue001]")
_SIMPLE_FRACTION = re.compile(r"[+-]?\\[dt]?frac\{[0-9]+\}\{[0-9]+\}")
_FRAC_SHORT = re.compile(r"\\frac(?!\{[^{}]*\}\{)\s*(?:\{([^{}]*)\}|([0-9a-zA-Z]))\s*(?:\{([^{}]*)\}|([0-9a-zA-Z]))")
_SQRT_SHORT = re.compile(r"\\sqrt\s*([0-9a-zA-Z])")
_SCRIPT_GROUP = re.compile(r"([\^_])\s*\{\s*([0-9a-zA-Z])\s*\}")
_PLUS_MINUS = re.compile(r"\A\+\s*-\s*|\+\s?/\s?-\s*")
_ABOUT = re.compile(r"\A~\s*(?=[\d.+-])")
_SPACES = re.compile(r"\s+")
_TIGHT = re.compile(r"(?<![\w°])\s+|\s+(?!\w)")
_COMMA_SPACE = re.compile(r"\d,\s+\d{3}(?!\d)")
_PLAIN = re.compile(r"[0-9A-Za-z+-](?:[0-9A-Za-z ,/+-]*[0-9A-Za-z/+-])?(?:\.[0-9]+)?")
_EMPHASIS = re.compile(r"\A(\*\*|__|\*|`|\"|')(.+)\1\Z", re.DOTALL)
_BOX = re.compile(r"\A\\(?:boxed|fbox)\s*\{(.*)\}\Z", re.DOTALL)


def unicode_form(text: str) -> str:
    """NFKC with look-alikes folded: full-width digits, superscripts (kept as exponents), typed math symbols."""
    if text.isascii():
        return text
    text = re.sub("√\\s*([0-9]+)", r"\\sqrt{\1}", text)
    text = _SUPERSCRIPT.sub(lambda m: "^{" + m.group().translate(_SUPERSCRIPT_DIGITS) + "}", text)
    text = _SUBSCRIPT.sub(lambda m: "_{" + m.group().translate(_SUBSCRIPT_DIGITS) + "}", text)
    text = text.translate(_CHARACTERS)
    return text if text.isascii() else unicodedata.normalize("NFKC", text).translate(_CHARACTERS)


def canonical(text: str) -> str:
    r"""Canonical spelling of an answer or a reference.

    >>> canonical(r"$\dfrac12\text{ cm}$.")
    '\\frac{1}{2} cm'
    """
    text = text.strip()
    if _PLAIN.fullmatch(text) and not ("+-" in text or "+/" in text):
        return _SPACES.sub(" ", text)
    if _SIMPLE_FRACTION.fullmatch(text):
        return _one_fraction(text)
    text = unicode_form(text).strip()
    if text.startswith("~"):
        text = _ABOUT.sub(r"\\approx ", text)
    box = _BOX.match(text)
    if box:
        text = box.group(1)
    if "$" in text:
        text = _without_math_dollars(text)
    if "\\" in text:
        text = _PERCENT_OR_DEGREES.sub(lambda match: "%" if match.group() == "\\%" else "°", text)
    if "\\" in text or "~" in text or "^" in text or "_" in text or "{,}" in text:
        text = _latex_form(text)
    text = _SPACES.sub(" ", text).strip()
    while (quoted := _EMPHASIS.match(text)) is not None and quoted.group(1) not in quoted.group(2):
        text = quoted.group(2).strip()
    text = _without_trailing_stop(text)
    for _ in range(_MAX_OUTER_BRACES):
        if text[:1] != "{" or text[-1:] != "}" or closing_brace(text, 1) != len(text) - 1:
            break
        text = _without_trailing_stop(text[1:-1].strip())
    return _PLUS_MINUS.sub(r"\\pm ", text)


def _without_math_dollars(text: str) -> str:
    r"""Drop the dollar signs that delimit mathematics; those of amounts stay: ``\$5``, ``$5``, ``$5, $6``."""
    text = text.replace(r"\$", _ESCAPED_DOLLAR)
    if text.count("$") % 2 == 0:
        text = text.replace("$$", " ")
        text = _DOLLAR_PAIR.sub(
            lambda pair: pair.group() if _AMOUNT_AND_SEPARATOR.fullmatch(pair.group(1)) else f" {pair.group(1)} ", text
        )
    return text.replace(_ESCAPED_DOLLAR, "$")


def _one_fraction(text: str) -> str:
    """``\\dfrac{3}{4}`` and ``\\tfrac{3}{4}`` are ``\\frac{3}{4}``."""
    return text.replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac")


def _latex_form(text: str) -> str:
    if _SIMPLE_FRACTION.fullmatch(bare := text.strip()):
        return _one_fraction(bare)
    has_rows = "\\begin" in text
    if has_rows:  # the second backslash of a row break and the space behind it are no thin space
        text = text.replace("\\\\", _ROW_BREAK)
    for _ in range(4):
        before = text
        outer = _OUTER_MACRO.match(text)
        if outer is not None and closing_brace(text, outer.end()) == len(text) - 1:
            text = text[outer.end() : -1].strip()
        text = _TEXT_MACRO.sub(r" \1 ", text)
        if text == before:
            break
    if not _LATEX_SIGN.search(text):
        return text
    for needle, pattern, replacement in _REWRITES:
        if needle in text:
            text = pattern.sub(replacement, text)
    if text.endswith("\\"):
        text = text.rstrip("\\ ")
    text = _FRAC_SHORT.sub(_braced_fraction, text)
    text = _SQRT_SHORT.sub(r"\\sqrt{\1}", text)
    text = _SCRIPT_GROUP.sub(r"\1\2", text)
    return text.replace(_ROW_BREAK, "\\\\") if has_rows else text


def _braced_fraction(match: re.Match[str]) -> str:
    top = match[1] if match[2] is None else match[2]
    bottom = match[3] if match[4] is None else match[4]
    return rf"\frac{{{top}}}{{{bottom}}}"


def _without_trailing_stop(text: str) -> str:
    end = len(text.rstrip())
    while end and (text[end - 1] in ".,;:" or text[end - 1].isspace()) and text[end - 2 : end - 1] != "\\":
        if text.endswith("..", 0, end):
            break
        end -= 1
    return text[:end]


def tight(text: str) -> str:
    """Canonical text without the spaces that mean nothing: those not between two word characters."""
    return text if " " not in text or _COMMA_SPACE.search(text) else _TIGHT.sub("", text)


_BARE_SIGNS = set(".,:;!?'\"()[]{}-_…`*#|~@&^$\\ \t\n")


def says_nothing(text: str) -> bool:
    """Only punctuation: such an 'answer' must not reach a judge (policy 13)."""
    return all(character in _BARE_SIGNS for character in text)
