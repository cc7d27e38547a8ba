"""The tables of reason codes as they stand in docs/verifier.md.

    python -m reward_workers.verifier.reason_tables docs/verifier.md

puts the tables of today between the two marks of that page.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from reward_workers.verifier.reasons import TABLES

MARKS = ("<!-- reasons: begin -->", "<!-- reasons: end -->")


def markdown_tables() -> str:
    """All reason codes as the tables of docs/verifier.md."""
    lines = []
    for value, name, meanings in TABLES:
        lines += [f"### {name} ({'unresolved' if value is None else value})", "", "| reason | meaning |", "|---|---|"]
        lines += [f"| `{code}` | {meaning} |" for code, meaning in meanings.items()]
        lines.append("")
    return "\n".join(lines)


def renew(document: Path) -> None:
    """Put the tables between the two marks of a document.

    Raises:
        ValueError: the document has no such marks.
    """
    before, opening, rest = document.read_text().partition(MARKS[0])
    _, closing, after = rest.partition(MARKS[1])
    if not opening or not closing:
        raise ValueError(f"{document} has no {MARKS[0]} ... {MARKS[1]}: put the two marks where the tables belong")
    document.write_text(f"{before}{opening}\n\n{markdown_tables()}\n{closing}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Renew the tables of reason codes in a document.")
    parser.add_argument("document", type=Path, help="docs/verifier.md")
    options = parser.parse_args()
    try:
        renew(options.document)
    except (OSError, ValueError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
