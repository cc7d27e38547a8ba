"""The sentences of a response, without what it only quotes: code, tables, quotations. Linear in the text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from foundation.responses.markers import code_spans

CJK = "\u3400-\u9fff"
_QUOTED = re.compile(
    r"“[^“”\n]{0,400}”|「[^」\n]{0,400}」|『[^』\n]{0,400}』|«[^»\n]{0,400}»|(?<![\w\\])\"[^\"\n]{1,400}\"(?!\w)"
)
_TABLE_ROW = re.compile(r"^[^\n|]*\|[^\n|]*\|[^\n]*$", re.MULTILINE)
_BOUNDARY = re.compile(r"(?<=[.!?…])[*_)\]]{0,3}\s+|(?<=[。！？；])|\n+")
_LIST_MARK = re.compile(r"^(?:[-*+•·]\s+|\(?\d{1,3}[.)、]\s*|[#>]+\s*)+")
_EMPHASIS = re.compile(r"\*{1,3}|_{2,3}|#{1,6}\s*|^>\s*")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence or line.

    Attributes:
        text: without markdown emphasis, list marks and surrounding blanks; keeps its case and punctuation.
        listed: it stood behind a list mark or heading mark.
    """

    text: str
    listed: bool


def without_quotations(text: str) -> str:
    """The text with code, table rows and quoted passages blanked: words in them are shown, not said."""
    parts = []
    end = 0
    for start, code_end in code_spans(text):
        parts.append(text[end:start])
        end = code_end
    parts.append(text[end:])
    return _QUOTED.sub(" ", _TABLE_ROW.sub(" ", " ".join(parts)))


def split_sentences(text: str) -> list[Sentence]:
    """Sentences in order, split at line ends and at sentence marks (English and Chinese); empty ones are left out.

    >>> [sentence.text for sentence in split_sentences("It is 3.5 m. **Done!** 好。是3。")]
    ['It is 3.5 m.', 'Done!', '好。', '是3。']
    """
    found = []
    for part in _BOUNDARY.split(text):
        bare = part.strip()
        if not bare:
            continue
        mark = _LIST_MARK.match(bare)
        clean = _EMPHASIS.sub("", bare[mark.end() :] if mark else bare).strip()
        if clean:
            found.append(Sentence(clean, mark is not None))
    return found
