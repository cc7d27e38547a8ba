"""Near duplicates and overlap with training data, by image and by question.

Two prompts are near duplicates when they ask nearly the same about nearly the same image; a question alone may be asked
of many images, and an image may carry many questions.
"""

from __future__ import annotations

import hashlib
import io
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from evaluation.pattern_eval.images import ImageProblem, load_image
from foundation.runs.evaluation_records import Prompt

HASH_SIDE = 8
_TEXT_ONLY = "text only"


def shingles(text: str, size: int = 3) -> frozenset[tuple[str, ...]]:
    """Runs of `size` words, lower case; a shorter text is one run."""
    words = text.lower().split()
    if len(words) <= size:
        return frozenset({tuple(words)})
    return frozenset(tuple(words[i : i + size]) for i in range(len(words) - size + 1))


def difference_hash(content: bytes) -> int:
    """64 bits: whether each of 8x8 cells is darker than its right neighbour (Krawetz's dHash)."""
    grey = Image.open(io.BytesIO(content)).convert("L").resize((HASH_SIDE + 1, HASH_SIDE), Image.Resampling.LANCZOS)
    cells = np.asarray(grey, dtype=np.int16)
    bits = (cells[:, 1:] > cells[:, :-1]).flatten()
    return int("".join("1" if bit else "0" for bit in bits), 2)


class Fingerprints:
    """Looks up prompts that are nearly the same.

    Args:
        root: folder of image paths.
        max_bits: differing bits of two image hashes up to which images count as the same, 0..64.
        similarity: shared word triples of two questions (Jaccard) from which on they count as the same, in 0..1.
    """

    def __init__(self, root: Path, max_bits: int, similarity: float) -> None:
        self._root = root
        self._max_bits = max_bits
        self._similarity = similarity
        self._entries: list[tuple[str, int | str, frozenset[tuple[str, ...]]]] = []
        self._by_triple: dict[tuple[str, ...], list[int]] = defaultdict(list)

    def add(self, prompt: Prompt) -> None:
        """Remember a prompt."""
        triples = shingles(prompt.question)
        number = len(self._entries)
        self._entries.append((prompt.prompt_id, self._image(prompt), triples))
        for triple in triples:
            self._by_triple[triple].append(number)

    def twin_of(self, prompt: Prompt) -> str | None:
        """The id of a remembered prompt that is nearly the same; None without one."""
        triples, image = shingles(prompt.question), self._image(prompt)
        for number in sorted({n for triple in triples for n in self._by_triple[triple]}):
            name, other_image, other = self._entries[number]
            if len(triples & other) >= self._similarity * len(triples | other) and self._same(image, other_image):
                return name
        return None

    def _same(self, one: int | str, other: int | str) -> bool:
        if isinstance(one, int) and isinstance(other, int):
            return (one ^ other).bit_count() <= self._max_bits
        return one == other

    def _image(self, prompt: Prompt) -> int | str:
        """Hash of the first image; the address itself where only a server can fetch it."""
        if not prompt.images:
            return _TEXT_ONLY
        given = prompt.images[0]
        if isinstance(given, str) and given.startswith(("http://", "https://")):
            return given
        try:
            content = given if isinstance(given, bytes) else (self._root / given).read_bytes()
            return difference_hash(content)
        except (OSError, SyntaxError, ValueError):
            return hashlib.sha256(str(given).encode()).hexdigest()  # sampling rejects an image that cannot be opened


def unreadable_image(prompt: Prompt, root: Path) -> str | None:
    """Why an image of a prompt cannot be shown; None when all can."""
    for image in prompt.images:
        try:
            load_image(image, root, 0)
        except ImageProblem as problem:
            return problem.reason
    return None


def remember(prompts: Iterable[Prompt], found: Fingerprints) -> Fingerprints:
    """A copy that knows these prompts too."""
    for prompt in prompts:
        found.add(prompt)
    return found


__all__: Sequence[str] = ("Fingerprints", "difference_hash", "remember", "shingles", "unreadable_image")
