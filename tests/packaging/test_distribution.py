"""The distribution: its packages, its pins, and the constraints that belong to them."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]


def constraints() -> dict[str, str]:
    lines = [line for line in (ROOT / "constraints-cpu.txt").read_text().splitlines() if line and line[0] != "#"]
    pins = [line.split("==") for line in lines]
    return {canonicalize_name(name): version for name, version in pins}


@pytest.mark.parametrize("requirement", PROJECT["project"]["dependencies"] + EXTRAS["cpu"] + EXTRAS["dev"])
def test_the_constraints_hold_a_fitting_version_of_every_cpu_requirement(requirement):
    wanted = Requirement(requirement)
    version = constraints().get(canonicalize_name(wanted.name))
    assert version is not None, f"{wanted.name} is not in constraints-cpu.txt: make constraints"
    assert wanted.specifier.contains(version), f"constraints-cpu.txt has {wanted.name}=={version}"


def test_what_is_removed_after_the_install_is_not_pinned():
    assert not {"torchcodec", "torchaudio"} & set(constraints())


def test_the_gpu_extra_is_verls_own_choice():
    """verl 0.9.1, extras `vllm` and `flash-attn-cu130torch211` of its metadata."""
    from importlib.metadata import requires

    verl = {Requirement(line).name: Requirement(line) for line in requires("verl") or [] if 'extra == "vllm"' in line}
    flash = [line for line in requires("verl") or [] if line.startswith("flash-attn==")]
    ours = {Requirement(line).name: Requirement(line) for line in EXTRAS["gpu"]}
    for name in ("torch", "torchvision", "torchaudio", "vllm"):
        assert ours[name].specifier == verl[name].specifier
    assert flash[0].startswith(str(ours["flash-attn"]))


def test_every_part_of_the_project_is_packaged():
    patterns = {pattern.rstrip("*") for pattern in PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]}
    assert patterns == {
        "configs",
        "foundation",
        "trainer",
        "reward_workers",
        "rollout_workers",
        "corpora",
        "evaluation",
        "launch",
        "hydra_plugins",
    }


def test_the_makefile_documents_each_command():
    makefile = (ROOT / "Makefile").read_text()
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    for target in phony.split():
        assert re.search(rf"^{target}:.*## \S", makefile, re.MULTILINE), target
