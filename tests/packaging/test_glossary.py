"""The glossary names what exists."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

import pytest

GLOSSARY = Path(__file__).resolve().parents[2] / "docs" / "glossary.md"
ROWS = [[cell.strip() for cell in line.split("|")[1:-1]] for line in GLOSSARY.read_text().splitlines() if "|" in line]
NAMED = sorted(set(re.findall(r"`((?:foundation|reward_workers|launch)\.[\w.]+)`", " ".join(row[2] for row in ROWS))))


def test_every_row_has_a_word_a_meaning_and_a_place():
    assert len(ROWS) > 30
    for row in ROWS:
        assert len(row) == 4 and all(row[:3]), row


@pytest.mark.parametrize("name", NAMED)
def test_the_places_exist(name):
    assert pkgutil.resolve_name(name) is not None
