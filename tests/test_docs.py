"""What documents and comments name exists: paths, commands, quotes. No code of a list that readers do not have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TOPS = sorted(path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] not in "._")

TESTS = ROOT / "tests"

SPAN = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"(?:[\w.*-]+/)+[\w.*-]*")
COMMAND = re.compile(r"python -m ([a-z_][\w.]*)")
QUOTE = re.compile(r"\(`([\w/.]+)`, `[\w.]+`\):\n\n```python\n(.*?)```", re.DOTALL)
SUFFIXES = (".py", ".yaml", ".jinja", ".md", ".sh")
LEFT_ASIDE = ("__pycache__", "build", "data")
REQUIREMENT = re.compile(r"\b[RGN]\d{1,2}\b|\bA\.1[0-2]\b|\b[Gg]oldens? [RG]\d")


def named_paths(text: str) -> Iterator[str]:
    """Paths of this repository in code spans; braces are spelled out. A name with ``my_`` is the reader's."""
    for span in SPAN.findall(text):
        for word in spelled_out(span):
            top, name = word.split("/")[0], word.split("/")[-1]
            if not PATH.fullmatch(word) or name.startswith("my_"):
                continue
            of_tests = (TESTS / top).is_dir() and name.endswith(".py")  # pages name tests from tests/ on
            if of_tests or (top in TOPS and (not name or "." in name)):  # otherwise a metric: `reward_workers/restarts`
                yield word


def spelled_out(word: str) -> list[str]:
    """``a/{b,c}.py`` as ``a/b.py`` and ``a/c.py``."""
    match = re.fullmatch(r"(.*?)\{([^{}]*,[^{}]*)\}(.*)", word)
    if match is None:
        return [word]
    before, choices, after = match.groups()
    return [word for choice in choices.split(",") for word in spelled_out(f"{before}{choice.strip()}{after}")]


def exists(name: str) -> bool:
    return any(any(folder.glob(name.rstrip("/"))) for folder in (ROOT, TESTS))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_path_in_a_document_exists(document):
    assert [name for name in named_paths(document.read_text()) if not exists(name)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_in_a_document_exists(document):
    text = document.read_text()
    missing = [
        name
        for name in COMMAND.findall(text)
        if name.split(".")[0] in TOPS
        and not (ROOT / f"{name.replace('.', '/')}.py").is_file()
        and not (ROOT / name.replace(".", "/") / "__main__.py").is_file()
    ]
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    missing += [
        f"make {name}" for name in re.findall(r"(?:`|^ {4})make ([a-z0-9-]+)", text, re.M) if name not in targets
    ]
    assert missing == []


def test_the_look_up_sees_paths_and_their_absence():
    text = (
        "`trainer/checks/data_check.py`, `configs/{judge,no_such}/toy.yaml`, `assets/toy/*/card.md`, `a/b`, `trainer.x`"
    )
    found = list(named_paths(text))
    assert found == [
        "trainer/checks/data_check.py",
        "configs/judge/toy.yaml",
        "configs/no_such/toy.yaml",
        "assets/toy/*/card.md",
    ]
    assert [name for name in found if not exists(name)] == ["configs/no_such/toy.yaml"]


def test_quoted_code_is_in_the_file_that_is_named():
    quotes = QUOTE.findall((ROOT / "CONTRIBUTING.md").read_text())
    assert len(quotes) == 3
    for name, quoted in quotes:
        assert quoted in (ROOT / name).read_text(), name


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) < 120


def read_by_people() -> Iterator[Path]:
    """Code, configuration, prompts and documents, without data and without what tools leave."""
    yield from DOCUMENTS
    yield from (ROOT / name for name in ("Makefile", "Dockerfile", "pyproject.toml"))
    for top in TOPS:
        if top in ("assets", "outputs"):
            continue
        for path in (ROOT / top).rglob("*"):
            parts = path.relative_to(ROOT).parts
            if path.suffix in SUFFIXES and not any(part in LEFT_ASIDE or part[0] == "." for part in parts):
                yield path


def test_no_code_of_an_unknown_list_is_left():
    """A comment names the section, table or figure of the paper, or says the thing itself."""
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in read_by_people()
        if path != Path(__file__).resolve()
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if REQUIREMENT.search(line)
    ]
    assert found == [], "\n" + "\n".join(found)
