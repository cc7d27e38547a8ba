"""The image of the GPU cluster, as far as it can be checked without building it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def instructions() -> list[tuple[str, str]]:
    """The Dockerfile as (instruction, arguments), continuation lines joined, comments dropped."""
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in joined.splitlines() if line.strip()]


def test_every_base_is_pinned_to_a_release(instructions):
    bases = [arguments.split()[0] for name, arguments in instructions if name == "FROM"]
    bases += [
        found for name, arguments in instructions if name == "COPY" for found in re.findall(r"--from=(\S+)", arguments)
    ]
    stages = {arguments.split()[-1] for name, arguments in instructions if name == "FROM" and " AS " in arguments}
    external = [base for base in bases if base not in stages]
    assert len([name for name, _ in instructions if name == "FROM"]) >= 2, "multi-stage"
    for base in external:
        assert re.search(r":v?\d+\.\d+", base), f"{base} names no release"


def test_the_last_stage_runs_as_a_user_without_rights(instructions):
    last_from = max(index for index, (name, _) in enumerate(instructions) if name == "FROM")
    users = [arguments for name, arguments in instructions[last_from:] if name == "USER"]
    assert users, "the last stage has no USER"
    assert users[-1].split(":")[0] not in {"root", "0"}
    copies_after = [n for n, _ in instructions[last_from:]].index("USER")
    assert "RUN" not in [n for n, _ in instructions[last_from:]][copies_after:]


def test_no_secret_has_a_place_in_the_image(instructions):
    for name, arguments in instructions:
        if name in {"ENV", "ARG", "RUN", "LABEL"}:
            assert not re.search(r"(?i)(api_?key|token|secret|password|credential)", arguments), arguments
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in ignored, "everything stays out of the build context unless it is named"


def test_the_image_takes_its_versions_from_the_gpu_extra(instructions):
    import tomllib

    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["gpu"]
    pinned = dict(requirement.split("==") for requirement in extra if "==" in requirement)
    text = " ".join(arguments for name, arguments in instructions if name == "RUN")
    for package in ("torch", "flash-attn"):
        assert f'"{package}=={pinned[package]}"' in text
    assert '".[gpu]"' in text
