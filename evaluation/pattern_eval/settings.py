"""The types of the sections of a PatternEval run: keys, ranges, and what must fit together.

Pure. The YAML files under `configs/evaluation` hold every default. Judges and servers are typed where they are used, in
`foundation.settings.judges`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from omegaconf import DictConfig, OmegaConf
from pydantic import Field, field_validator

from foundation.responses.families import MODES, Mode, PromptTail, check_mode, get_family
from foundation.settings.compose import ConfigError, plain_settings
from foundation.settings.judge_kinds import ANSWER_JUDGE, CORRECTNESS_JUDGE, PATTERN_JUDGE, PATTERN_RM, misfit
from foundation.settings.judges import JudgeSettings, ServedModel
from foundation.settings.section_check import check_section
from foundation.settings.sections import Count, Files, Name, Positive, Section, Thresholds, VerifierSettings

ModelName = Annotated[str, Field(min_length=1, max_length=80)]
Fraction = Annotated[float, Field(gt=0)]

ASKED_FOR_LABELS = (PATTERN_JUDGE, PATTERN_RM)
ASKED_FOR_VERDICTS = (CORRECTNESS_JUDGE, ANSWER_JUDGE)


class Run(Section):
    name: Name
    dir: Annotated[str, Field(min_length=1)]


class Prompts(Section):
    """`taxonomy`: category titles by family. `max_pixels`: larger images are made smaller, 0 sends any size.

    `oracle`: dotted path of a function (question, visible response) -> labels, where a synthetic corpus has one.
    """

    name: Name
    files: Files
    taxonomy: dict[str, dict[str, str]]
    image_root: str
    max_pixels: Count
    oracle: str | None


class Price(Section):
    """What a million tokens cost; null where nothing is paid."""

    prompt_per_million: float | None
    completion_per_million: float | None
    currency: str


class PerMode(Section):
    nt: dict[str, Any]
    t: dict[str, Any]


class Tails(Section):
    """How the rendered prompt ends in each mode; null asks the server (vLLM) or leaves it unknown."""

    nt: PromptTail | None
    t: PromptTail | None


class Model(Section):
    """The model under test.

    `pair`: what its two modes are: a `toggle` of the chat template, two `checkpoints`, or levels of `effort`.
    `template_switch`: send the family's chat template arguments; `request`: further fields that choose the mode.
    `seed`: every prompt gets a seed of its own, the same in both modes, drawn from this one; null sends none.
    """

    name: ModelName
    family: str
    pair: Literal["toggle", "checkpoints", "effort"]
    template_switch: bool
    seed: int | None
    prompt_tail: Tails
    request: PerMode
    decoding: PerMode
    price: Price

    @field_validator("family")
    @classmethod
    def _known_family(cls, family: str) -> str:
        return get_family(family).name


class Asks(Section):
    """Which judges are asked, by their names in `judges`, and from which probability on PatternRM's labels count."""

    correctness: str
    pattern: Annotated[list[str], Field(min_length=1)]
    threshold: Thresholds


class Calibration(Section):
    """Counts of the pattern judges' Trigger on responses of known truth."""

    hits: Count
    misses: Count
    clean: Count
    false_alarms: Count


class ReportSettings(Section):
    resamples: Positive
    length_unit: Literal["chars", "tokens"]
    length_pooling: Literal["all", "group"]
    length_bins: Positive
    examples_per_label: Count
    text_budget_mb: Fraction
    flagships: list[str]
    series: dict[str, list[str]]
    calibration: Calibration | None


@dataclass(frozen=True, slots=True)
class PageSettings:
    """What a page needs: enough for published results and finished runs.

    Attributes:
        published: show the paper's results.
        compare: folders of finished runs shown on the page.
        training_run: run folder of the trainer whose held-out records are shown, a model a step; None for none.
    """

    published: bool
    dry_run: bool
    seed: int
    compare: tuple[str, ...]
    training_run: str | None
    run: Run
    prompts: Prompts
    report: ReportSettings


@dataclass(frozen=True, slots=True)
class EvalSettings(PageSettings):
    """What a run of a model needs beside its page.

    Attributes:
        limit: ask the first so many prompts; None for all.
        checkpoints: run folder of the trainer, each checkpoint of which is evaluated; None for the model alone.
        patience_s: how long a question waits while every server that could answer it keeps failing, in seconds.
        server_env: environment of every server that the run starts.
        servers: where each mode is asked.
        judges: those that are asked, by name.
    """

    modes: tuple[Mode, ...]
    limit: int | None
    checkpoints: str | None
    patience_s: float
    server_env: Mapping[str, str]
    model: Model
    asks: Asks
    verifier: VerifierSettings
    servers: Mapping[Mode, ServedModel]
    judges: Mapping[str, JudgeSettings]


PAGE_KEYS = ("published", "dry_run", "seed", "compare", "training_run")
PAGE_SECTIONS: dict[str, type[Section]] = {"run": Run, "prompts": Prompts, "report": ReportSettings}
RUN_SECTIONS: dict[str, type[Section]] = {"asks": Asks, "verifier": VerifierSettings}


def read_settings(config: DictConfig) -> PageSettings:
    """Check a composed tree; an `EvalSettings` where it names a model.

    Raises:
        ConfigError: one line for every problem: key, value, what to set.
    """
    with_model = config.get("model") is not None
    if not (with_model or config.published or config.compare or config.training_run):
        raise ConfigError(
            [
                "nothing to do: set model=<name>, published=true, compare=[<folder of a finished run>] or "
                "training_run=<run folder of the trainer>"
            ]
        )
    if not with_model:
        # Sections of a run may be incomplete here: nobody is asked.
        config = OmegaConf.masked_copy(config, [*PAGE_KEYS, *PAGE_SECTIONS])
    plain = plain_settings(config)
    problems: list[str] = []
    sections = {name: check_section(kind, plain.get(name), name, problems) for name, kind in PAGE_SECTIONS.items()}
    page = {
        "published": bool(plain["published"]),
        "dry_run": bool(plain["dry_run"]),
        "seed": int(plain["seed"]),
        "compare": tuple(plain["compare"]),
        "training_run": plain["training_run"],
    }
    if with_model:
        page |= _run_settings(plain, sections, problems)
    if problems:
        raise ConfigError(problems)
    kind = EvalSettings if with_model else PageSettings
    return kind(**page, **sections)  # type: ignore[arg-type]


def _run_settings(plain: dict[str, Any], sections: dict[str, Section | None], problems: list[str]) -> dict[str, Any]:
    """The fields of `EvalSettings` that `PageSettings` has not; adds its sections."""
    modes = _modes(plain["modes"], problems)
    model, servers = _model(plain["model"], modes, problems)
    sections["model"] = model
    sections |= {name: check_section(kind, plain.get(name), name, problems) for name, kind in RUN_SECTIONS.items()}
    limit = plain["limit"]
    if limit is not None and (type(limit) is not int or limit < 1):
        problems.append(f"limit={limit!r}: set a whole number of at least 1, or null for all prompts")
    asks = sections["asks"]
    judges = _judges(plain["judges"], asks, problems) if isinstance(asks, Asks) else {}
    patience_s = plain["patience_s"]
    if isinstance(patience_s, bool) or not isinstance(patience_s, int | float) or patience_s < 0:
        problems.append(f"patience_s={patience_s!r}: set seconds, 0 to wait for nobody")
    env = {str(key): str(value) for key, value in plain["server_env"].items()}
    return {
        "modes": modes,
        "limit": limit,
        "checkpoints": plain["checkpoints"],
        "patience_s": patience_s,
        "server_env": env,
        "servers": servers,
        "judges": judges,
    }


def read_model(section: Mapping[str, Any], modes: tuple[Mode, ...]) -> tuple[Model, dict[Mode, ServedModel]]:
    """A `model` section by itself, and its servers for some modes.

    Raises:
        ConfigError: one line for every problem.
    """
    problems: list[str] = []
    model, servers = _model(section, modes, problems)
    if problems or model is None:
        raise ConfigError(problems)
    return model, servers


def _model(
    section: Mapping[str, Any], modes: tuple[Mode, ...], problems: list[str]
) -> tuple[Model | None, dict[Mode, ServedModel]]:
    servers: dict[Mode, ServedModel] = {}
    for mode in modes:
        server = _server((section.get("servers") or {}).get(mode), f"model.servers.{mode}", problems)
        if server is not None:
            servers[mode] = server
    own = {key: value for key, value in section.items() if key != "servers"}
    model = check_section(Model, own, "model", problems)
    if model is None:
        return None, servers
    problems += _pair_problems(model, modes, servers)
    return model, servers


def _modes(given: Any, problems: list[str]) -> tuple[Mode, ...]:
    if not isinstance(given, list) or not given or len(set(map(str, given))) != len(given):
        problems.append(f"modes={given!r}: set [nt, t], [nt] or [t]")
        return ()
    try:
        chosen = {check_mode(mode) for mode in given}
    except ValueError as error:
        problems.append(f"modes: {error}")
        return ()
    return tuple(mode for mode in MODES if mode in chosen)


def _server(section: Any, where: str, problems: list[str]) -> ServedModel | None:
    server = ServedModel.read(section, "model", where, problems)
    if server is not None:
        _check_key(server, where, problems)
    return server


def _judges(sections: Mapping[str, Any], asks: Asks, problems: list[str]) -> dict[str, JudgeSettings]:
    wanted = {asks.correctness: ASKED_FOR_VERDICTS, **dict.fromkeys(asks.pattern, ASKED_FOR_LABELS)}
    if len(wanted) != 1 + len(asks.pattern):
        problems.append(f"asks.pattern={asks.pattern}: name each judge once, and another one in asks.correctness")
    found = {}
    for name, kinds in wanted.items():
        where = f"judges.{name}"
        if not isinstance(sections.get(name), Mapping):
            problems.append(f"asks names judge {name!r}, but judges has {', '.join(sections)}")
            continue
        wrong = misfit(name, sections[name].get("prompt"), *kinds)
        if wrong is not None:
            problems.append(wrong)
        judge = JudgeSettings.read(sections[name], name, where, problems)
        if judge is not None:
            _check_key(judge, where, problems)
            found[name] = judge
    return found


def _check_key(settings: ServedModel, where: str, problems: list[str]) -> None:
    if settings.api_key_env is not None and not os.environ.get(settings.api_key_env):
        problems.append(
            f"{where}.api_key_env={settings.api_key_env!r}: that variable is not set; export it, or set null for a "
            "server without a key"
        )


def _pair_problems(model: Model, modes: tuple[Mode, ...], servers: Mapping[Mode, ServedModel]) -> list[str]:
    """Only the reasoning control may differ between the modes of one model."""
    if model.seed is not None and ("seed" in model.decoding.nt or "seed" in model.decoding.t):
        return [
            "model.seed draws a seed for each prompt, but model.decoding has a seed as well: set one of them to null"
        ]
    if set(modes) != set(MODES) or set(servers) != set(MODES):
        return []
    problems = []
    if model.pair != "checkpoints":
        nt, t = model.decoding.nt, model.decoding.t
        differs = sorted(key for key in nt.keys() | t.keys() if nt.get(key) != t.get(key))
        if differs:
            problems.append(
                f"model.pair={model.pair} changes the reasoning control alone, but model.decoding.nt and .t differ in "
                f"{', '.join(differs)}: make them equal, or set model.pair=checkpoints for two checkpoints"
            )
        if servers["nt"] != servers["t"]:
            problems.append(
                f"model.pair={model.pair} is one server, but model.servers.nt and .t differ: make them equal"
            )
        if not model.template_switch and model.request.nt == model.request.t:
            problems.append(
                f"model.pair={model.pair}, but nothing differs between the modes: set model.template_switch=true, or "
                "other fields in model.request.nt and .t"
            )
    elif servers["nt"] == servers["t"]:
        problems.append("model.pair=checkpoints, but model.servers.nt and .t are the same server: set the two of them")
    return problems
