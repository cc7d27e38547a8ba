"""Which part may import which: the floors of the project, and what stays light.

`python -m pytest tests/test_layers.py -v` shows the floors by name. An import counts wherever it stands, in a function
too, and so does a name in YAML that is imported later. A new module needs no line here; a new part or room needs one.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]

FLOORS: dict[str, tuple[str, ...]] = {
    "1 foundation": ("foundation",),
    "2 rewards": ("reward_workers",),
    "3 rollouts": ("rollout_workers",),
    "4 commands": ("trainer", "evaluation", "corpora.toy", "corpora.pattern_eval"),
    "5 launch": ("launch", "hydra_plugins"),
    "6 benchmarks": ("benchmarks",),
}
"""Parts, from the ground up. A part imports from floors below its own, not from above and not from its neighbours."""

BETWEEN_NEIGHBOURS = {
    ("corpora.pattern_eval", "evaluation.pattern_eval.images"): "candidates are told apart by the pixels a judge sees",
    ("corpora.pattern_eval", "evaluation.pattern_eval.prompt_file"): "a pool and a set are files of this format",
    ("corpora.pattern_eval", "evaluation.pattern_eval.responses"): "anchors are found in the responses of its runs",
}
"""The imports between parts of one floor: construction reads and writes files of the evaluation, through its code."""

ROOMS: dict[str, tuple[tuple[str, ...], ...]] = {
    "foundation": (("labels",), ("responses",), ("settings",), ("runs",)),
    "reward_workers": (
        ("verifier", "judges"),
        ("detectors", "waiting"),
        ("gate", "mix", "label_source", "worker_index"),
        ("terms",),
        ("scoring",),
        ("reward_manager",),
    ),
    "trainer": (("checks", "frame"), ("grpo",), ("main", "summary")),
}
"""Rooms of a part, from the ground up: a room imports from rooms before its own. The frame knows no way of training."""

FORBIDDEN = ("torch", "ray", "verl", "vllm", "transformers", "tensordict", "transfer_queue")
"""What takes seconds to import, or is not there in the light install (`make install-light`)."""

HEAVY = {
    "benchmarks": "they time the parts with everything that belongs to them",
    "corpora.toy.train": "trains the tiny models",
    "corpora.toy.training": "trains the tiny models",
    "launch.cluster": "asks a Ray cluster",
    "launch.follow": "follows a Ray job",
    "launch.job": "submits a Ray job",
    "launch.job_start": "runs on the cluster, before the trainer",
    "launch.logs": "follows a Ray job",
    "launch.prepare": "asks a Ray cluster",
    "launch.render": "names Ray's version in a manifest",
    "launch.status": "asks a Ray cluster",
    "launch.stop": "asks a Ray cluster",
    "launch.submit": "submits a Ray job",
    "launch.sweeps.scheduler": "submits Ray jobs",
    "launch.sweeps.sweep": "submits Ray jobs",
    "reward_workers.judges.serving.directory_link": "asks the task runner, a Ray actor",
    "reward_workers.judges.serving.fleet": "starts servers as Ray actors",
    "reward_workers.judges.serving.servers": "is a Ray actor",
    "reward_workers.reward_manager": "adapter to verl's reward loop",
    "rollout_workers": "adapters to verl and vLLM",
    "trainer.frame.queue_owner": "asks Ray who owns verl's queue",
    "trainer.grpo": "adapters to verl's trainer",
}
"""Modules and packages that may load one of `FORBIDDEN`. All others may not, function by function excepted."""

LIGHT_AMONG_HEAVY = ("rollout_workers.freeze_vision", "rollout_workers.upstream", "trainer.grpo.weight_schedule")
"""Pure modules of packages that are otherwise heavy."""


@dataclass(frozen=True, slots=True)
class Import:
    """One import: `module` names a module of the project, `line` counts from 1."""

    file: str
    line: int
    importer: str
    module: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.importer} imports {self.module}"


@cache
def modules() -> dict[str, Path]:
    """Every module of the parts by its dotted name; a package stands for its __init__."""
    found = {}
    for top in sorted({part.split(".")[0] for parts in FLOORS.values() for part in parts}):
        for path in (ROOT / top).rglob("*.py"):
            names = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(names[:-1] if names[-1] == "__init__" else names)] = path
    return found


@cache
def imports() -> tuple[Import, ...]:
    """Every import of one module of the project by another, anywhere in a file."""
    return tuple(found for name, path in modules().items() for found in _imports(name, path))


def _imports(importer: str, path: Path) -> Iterator[Import]:
    file = str(path.relative_to(ROOT))
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            package = importer if path.name == "__init__.py" else importer.rpartition(".")[0]
            start = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            targets = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for target in targets:
            known = _longest_module(target)
            if known is not None and known != importer:
                yield Import(file, node.lineno, importer, known)


def _longest_module(dotted: str) -> str | None:
    """The module that an imported name lies in: `foundation.labels.LABELS` lies in `foundation.labels`."""
    names = dotted.split(".")
    for length in range(len(names), 0, -1):
        if ".".join(names[:length]) in modules():
            return ".".join(names[:length])
    return None


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def place(module: str) -> tuple[int, str]:
    """The number of a module's floor, from 0, and its part."""
    for number, parts in enumerate(FLOORS.values()):
        for part in parts:
            if within(module, part):
                return number, part
    raise KeyError(f"{module} belongs to no part of FLOORS in {Path(__file__).name}: give it a floor")


def room_of(module: str) -> tuple[str, int, str] | None:
    """Part, number and name of a module's room; None for a part without rooms and for a package's own __init__."""
    for part, order in ROOMS.items():
        if within(module, part) and module != part:
            name = module.removeprefix(part + ".").split(".")[0]
            for number, names in enumerate(order):
                if name in names:
                    return part, number, name
            raise KeyError(f"{module} belongs to no room of {part}: give it a place in ROOMS of {Path(__file__).name}")
    return None


def test_every_module_has_its_floor_and_room():
    for module, path in modules().items():
        if module != "corpora" and path.stat().st_size:  # corpora's parts have floors, the folder has none
            place(module)
            room_of(module)


@pytest.mark.parametrize("floor", [pytest.param(f, id=f"{f}: {', '.join(parts)}") for f, parts in FLOORS.items()])
def test_nothing_is_imported_from_above_or_from_a_neighbour(floor):
    """Above: a later floor. Neighbour: another part of the same floor, unless BETWEEN_NEIGHBOURS names it."""
    names, number = list(FLOORS), list(FLOORS).index(floor)
    wrong = []
    for found in imports():
        at, part = place(found.importer)
        to, other = place(found.module)
        if at != number or part == other:
            continue
        if to > at:
            wrong.append(f"{found}, which lies above: floor {names[to]} over floor {floor}")
        elif to == at and (part, found.module) not in BETWEEN_NEIGHBOURS:
            wrong.append(f"{found}, its neighbour on floor {floor}: move what both need to a lower floor")
    assert wrong == [], "\n" + "\n".join(wrong)


@pytest.mark.parametrize("pair", BETWEEN_NEIGHBOURS, ids=" -> ".join)
def test_every_exception_is_still_used(pair):
    part, module = pair
    assert [found for found in imports() if within(found.importer, part) and found.module == module], pair


@pytest.mark.parametrize(
    "part", [pytest.param(p, id=p + ": " + " < ".join("+".join(r) for r in o)) for p, o in ROOMS.items()]
)
def test_rooms_of_a_part_stand_in_their_order(part):
    wrong = []
    for found in imports():
        here, there = room_of(found.importer), room_of(found.module)
        if here is None or there is None or here[0] != part or there[0] != part or here[2] == there[2]:
            continue
        if there[1] >= here[1]:
            wrong.append(f"{found}: in {part}, {here[2]} may not know {there[2]}")
    assert wrong == [], "\n" + "\n".join(wrong)


def test_no_modules_import_each_other_in_a_circle():
    """An import hidden in a function makes a circle all the same. Benchmarks are programs, not a part."""
    below: dict[str, set[str]] = {name: set() for name in modules() if not within(name, "benchmarks")}
    for found in imports():
        if found.importer in below:
            below[found.importer].add(found.module)
    done: set[str] = set()
    path: list[str] = []

    def visit(name: str) -> None:
        assert name not in path, "circle: " + " -> ".join([*path[path.index(name) :], name])
        if name in done:
            return
        path.append(name)
        for other in sorted(below[name]):
            visit(other)
        path.pop()
        done.add(name)

    for name in below:
        visit(name)


def test_the_cpu_platform_stands_apart():
    """It is a distribution of its own: no part imports it, and it imports no part."""
    tops = {name.split(".")[0] for name in modules()}
    for path in [*modules().values(), *(ROOT / "cpu_platform").rglob("*.py")]:
        inside = path.is_relative_to(ROOT / "cpu_platform")
        for node in ast.walk(ast.parse(path.read_text())):
            named = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            named += [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
            for name in named:
                top = name.split(".")[0]
                assert not (top in tops if inside else top == "patternrl_cpu"), f"{path}:{node.lineno} imports {name}"


def test_hydras_plugin_imports_nothing_heavy():
    """Hydra imports it in every command of the project."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / "hydra_plugins" / "patternrl_ray_jobs.py").read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    assert found <= {"__future__", "collections", "hydra", "omegaconf", "typing"}


# What is imported by name


DOTTED = re.compile(r"(?:pkg://)?([a-z_][a-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)+)(?::([A-Za-z_]\w*))?")
SETTINGS_TOO = ("trainer", "launch", "evaluation", "benchmarks", "corpora")
"""Names of folders that are also names of settings (`trainer.test_freq`): only a module's name is looked up there."""


def named_in_yaml() -> Iterator[tuple[str, str]]:
    """(file, dotted name) of each value in the configuration that names code of this project."""
    for path in sorted((ROOT / "configs").rglob("*.yaml")):
        for text in _texts(yaml.safe_load(path.read_text())):
            yield str(path.relative_to(ROOT)), text


def named_in_python() -> Iterator[tuple[str, str]]:
    for path in modules().values():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node.value


def named_in_documents() -> Iterator[tuple[str, str]]:
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for span in re.findall(r"`([^`\n]+)`", path.read_text()):
            yield path.name, span


def _texts(tree: object) -> Iterator[str]:
    if isinstance(tree, dict):
        for value in tree.values():
            yield from _texts(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _texts(value)
    elif isinstance(tree, str):
        yield tree


def missing(text: str) -> str | None:
    """What is wrong with a text that names code of this project; None if it names none, or if that is there."""
    match = DOTTED.fullmatch(text)
    if match is None:
        return None
    dotted, attribute = match.groups()
    names = dotted.split(".")
    if names[0] not in {name.split(".")[0] for name in modules()}:
        return None
    sure = text.startswith("pkg://") or attribute is not None or names[0] not in SETTINGS_TOO
    if not sure and ".".join(names[:2]) not in modules():
        return None
    module = _longest_module(dotted)
    if module is None:
        return f"{text!r} names no module"
    rest = names[len(module.split(".")) :] + ([attribute] if attribute else [])
    if rest and rest[0] not in _top_level_names(modules()[module]):
        return f"{text!r}: {module} has no {rest[0]}"
    return None


def _top_level_names(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return found


@pytest.mark.parametrize(
    "named", [named_in_yaml, named_in_python, named_in_documents], ids=["yaml", "python", "documents"]
)
def test_code_that_is_named_in_a_text_exists(named):
    assert [f"{where}: {problem}" for where, text in named() if (problem := missing(text))] == []


def test_the_look_up_of_names_sees_code_and_its_absence():
    texts = [text for _, text in named_in_yaml()]
    assert "pkg://reward_workers.reward_manager" in texts
    assert "rollout_workers.agent_loop.PatternAgentLoopManager" in texts
    assert missing("rollout_workers.agent_loop.PatternAgentLoopManager") is None
    assert missing("corpora.toy.oracle:label_response") is None
    assert missing("trainer.total_training_steps") is None, "a setting"
    assert missing("pkg://trainer.replay_buffer") is not None
    assert missing("reward_workers.reward_manager.NoSuchManager") is not None
    assert missing("corpora.toy.oracle:no_such_function") is not None


# What stays light


def is_heavy(module: str) -> bool:
    return module not in LIGHT_AMONG_HEAVY and any(within(module, name) for name in HEAVY)


LIGHT_IMPORTS = """
import importlib, json, sys, traceback

forbidden, names = json.loads(sys.stdin.read())
asked = []


class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in forbidden:
            frames = [f for f in traceback.extract_stack()[:-1] if "importlib" not in f.filename]
            asked.append((name, [f"{f.filename}:{f.lineno}" for f in frames]))
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


sys.meta_path.insert(0, Refuse())
problems = {}
for name in names:
    asked.clear()
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in forbidden:
            raise
    if asked:
        problems[name] = [(what, where) for what, where in asked]
print(json.dumps(problems))
"""


def loads(names: list[str]) -> dict[str, list[tuple[str, list[str]]]]:
    """What modules ask for of `FORBIDDEN` when a child imports them, each with the lines on the way to it."""
    done = subprocess.run(
        [sys.executable, "-c", LIGHT_IMPORTS],
        input=json.dumps([FORBIDDEN, names]),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_light_modules_load_no_engine():
    """All modules but those of HEAVY, imported one after the other by a child that refuses the forbidden packages."""
    light = sorted(name for name in modules() if not is_heavy(name))
    assert len(light) > 150
    problems = []
    for name, asked in loads(light).items():
        package, lines = asked[0]
        ours = [line for line in lines if line.startswith(str(ROOT))]
        at = ours[-1].removeprefix(f"{ROOT}/") if ours else "?"
        problems.append(f"{at}: import of {package}, so that {name} (floor {list(FLOORS)[place(name)[0]]}) loads it")
    assert problems == [], "\n" + "\n".join(problems)


def test_what_is_called_heavy_is_heavy():
    """An entry that nothing heavy stands behind any more would hide the next one."""
    found = loads([name for name in modules() if is_heavy(name) and not within(name, "benchmarks")])
    idle = [entry for entry in HEAVY if entry != "benchmarks" and not any(within(name, entry) for name in found)]
    assert idle == [], "take these from HEAVY"


def test_a_forbidden_import_is_told_with_its_line():
    (found,) = loads(["trainer.frame.queue_owner"]).values()
    package, lines = found[0]
    assert package == "ray"
    assert re.search(r"trainer/frame/queue_owner\.py:\d+$", lines[-1])
