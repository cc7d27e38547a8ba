"""The typed form of one ``judges.<name>`` section of the configuration.

Every key must be present: a default that no configuration file shows would be a hidden one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any

PLAIN = "plain"
"""No template of ours: what is sent are the prompts of an evaluation, and the server is the model under test."""

PROMPTS = (
    *("pattern_judge", "pattern_rm"),
    *("answer_equivalence", "answer_equivalence_compact", "answer_correctness"),
    PLAIN,
)
LANGUAGES = ("en", "zh")
NO_KEY = "EMPTY"
"""What vLLM and other key-less servers accept in place of an API key."""


@dataclass(frozen=True, slots=True)
class BreakerSettings:
    """When a breaker opens, and for how long.

    Attributes:
        failures: failed attempts in a row that open it, at least 1.
        cooldown_s: time without calls before one is let through to probe, in seconds, above 0.
    """

    failures: int
    cooldown_s: float


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """How the job runs the replicas of one judge.

    Attributes:
        model_path: local folder or hub name of the checkpoint.
        replicas: servers to start, at least 1.
        gpus_per_replica, cpus_per_replica: what Ray reserves for one server (fractions are allowed, 0 GPUs on the CPU).
        resources: further Ray resources of one server, such as ``{judge_node: 1}`` to keep judges on certain nodes.
        tensor_parallel_size: GPUs that one server splits the model over.
        max_model_len: longest prompt plus answer, in tokens.
        ready_timeout_s: how long a server may take until it answers, in seconds.
        hung_after_s: a server that answers nothing for so long is ended and started again, in seconds.
        max_restarts: how often in a row one replica may be started again; ten minutes of service begin a new row.
        idle_priority: the servers' processes run only while no other wants the core (SCHED_IDLE of sched(7)).
        args: further ``vllm serve`` arguments, as given on a command line.
        env: environment variables of the server process.
    """

    model_path: str
    replicas: int
    gpus_per_replica: float
    cpus_per_replica: float
    resources: Mapping[str, float]
    tensor_parallel_size: int
    max_model_len: int
    ready_timeout_s: float
    hung_after_s: float
    max_restarts: int
    idle_priority: bool
    args: tuple[str, ...]
    env: Mapping[str, str]

    @classmethod
    def from_config(cls, config: Mapping[str, Any], where: str) -> ServeSettings:
        """Check a ``serve`` section; raises ValueError naming the key, the value and what to set."""
        _check_keys(config, cls, where)
        if not config["model_path"]:
            raise ValueError(f"{where}.model_path is empty: give the folder or hub name of the judge's checkpoint")
        gpus = _number(config, "gpus_per_replica", where, low=0)
        tensor_parallel_size = int(_number(config, "tensor_parallel_size", where, low=1, whole=True))
        if 0 < gpus < 1 < tensor_parallel_size or 1 <= gpus < tensor_parallel_size:
            raise ValueError(
                f"{where}.tensor_parallel_size={tensor_parallel_size} needs as many GPUs, but "
                f"gpus_per_replica={gpus:g}: raise gpus_per_replica or lower tensor_parallel_size"
            )
        return cls(
            model_path=str(config["model_path"]),
            replicas=int(_number(config, "replicas", where, low=1, whole=True)),
            gpus_per_replica=gpus,
            cpus_per_replica=_number(config, "cpus_per_replica", where, low=0),
            resources=_resources(config["resources"], f"{where}.resources"),
            tensor_parallel_size=tensor_parallel_size,
            max_model_len=int(_number(config, "max_model_len", where, low=1, whole=True)),
            ready_timeout_s=_number(config, "ready_timeout_s", where, low=1),
            hung_after_s=_number(config, "hung_after_s", where, low=1),
            max_restarts=int(_number(config, "max_restarts", where, low=0, whole=True)),
            idle_priority=_switch(config, "idle_priority", where),
            args=tuple(str(argument) for argument in _sequence(config["args"], f"{where}.args")),
            env=MappingProxyType({str(key): str(value) for key, value in (config["env"] or {}).items()}),
        )


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """One judge: what is asked, where, and how long it may take.

    Attributes:
        name: key of the judge in the configuration, such as ``fallback``.
        model: model name that the servers answer to.
        base_urls: OpenAI-compatible roots that end in ``/v1``; filled in by the fleet when the job serves the judge.
        serve: how to start servers; None when someone else runs them.
        prompt, language: template of :mod:`reward_workers.judges.prompts.render` (or ``plain``) and its language.
        api_key_env: name of the environment variable that holds the key; None for servers without one.
        temperature: sampling temperature, 0 or more.
        max_tokens: longest answer in tokens.
        timeout_s, total_timeout_s: limit of one attempt, and of one call with all its attempts, in seconds.
        max_attempts: attempts of one call, 1 = no retry.
        breaker: when a server that keeps failing is left alone, and for how long.
        concurrency: calls in flight at once, of the whole job; one process takes its :meth:`share`.
    """

    name: str
    model: str
    base_urls: tuple[str, ...]
    serve: ServeSettings | None
    prompt: str
    language: str
    api_key_env: str | None
    temperature: float
    max_tokens: int
    timeout_s: float
    total_timeout_s: float
    max_attempts: int
    breaker: BreakerSettings
    concurrency: int

    @classmethod
    def from_config(cls, config: Mapping[str, Any], name: str, where: str | None = None) -> JudgeSettings:
        """Check a section; raises ValueError naming the key, the value and what to set.

        Args:
            where: where the section stands in the configuration; None for ``judges.<name>``.
        """
        where = where or f"judges.{name}"
        _check_keys(config, cls, where, beside={"name"})
        base_urls = tuple(str(url).rstrip("/") for url in _sequence(config["base_urls"], f"{where}.base_urls"))
        for url in base_urls:
            if not url.startswith(("http://", "https://")):
                raise ValueError(f"{where}.base_urls has {url!r}: write it as http://host:port/v1")
        serve = None if config["serve"] is None else ServeSettings.from_config(config["serve"], f"{where}.serve")
        if not base_urls and serve is None:
            raise ValueError(f"{where} has neither base_urls nor serve: set one of them")
        if not config["model"]:
            raise ValueError(f"{where}.model is empty: set the model name that the servers answer to")
        for key, allowed in (("prompt", PROMPTS), ("language", LANGUAGES)):
            if config[key] not in allowed:
                raise ValueError(f"{where}.{key}={config[key]!r} is unknown: use one of {', '.join(allowed)}")
        timeout_s = _number(config, "timeout_s", where, low=0.001)
        total_timeout_s = _number(config, "total_timeout_s", where, low=0.001)
        if total_timeout_s < timeout_s:
            raise ValueError(f"{where}.total_timeout_s={total_timeout_s} is below timeout_s={timeout_s}: raise it")
        return cls(
            name=name,
            model=str(config["model"]),
            base_urls=base_urls,
            serve=serve,
            prompt=config["prompt"],
            language=config["language"],
            api_key_env=config["api_key_env"],
            temperature=_number(config, "temperature", where, low=0),
            max_tokens=int(_number(config, "max_tokens", where, low=1, whole=True)),
            timeout_s=timeout_s,
            total_timeout_s=total_timeout_s,
            max_attempts=int(_number(config, "max_attempts", where, low=1, whole=True)),
            breaker=_breaker(config["breaker"], f"{where}.breaker"),
            concurrency=int(_number(config, "concurrency", where, low=1, whole=True)),
        )

    def with_base_urls(self, base_urls: Sequence[str]) -> JudgeSettings:
        """The same judge at other addresses."""
        return replace(self, base_urls=tuple(url.rstrip("/") for url in base_urls))

    def identity(self) -> tuple[str, ...]:
        """Who judges, as far as the configuration tells: the name it is asked by, its checkpoint, and its prompt."""
        checkpoint = self.serve.model_path if self.serve is not None else ""
        return self.model, checkpoint, self.prompt, self.language

    def share(self, worker: int, workers: int) -> JudgeSettings:
        """The same judge for one of the processes that call it: their limits on concurrency add up to the job's.

        Args:
            worker: index of this process, 0..workers-1; the first ones take what does not divide.
            workers: processes that call the judge (``reward.num_workers``).

        Raises:
            ValueError: fewer calls are allowed than there are processes.
        """
        problem = self.too_few_calls(workers)
        if problem is not None:
            raise ValueError(problem)
        if not 0 <= worker < workers:
            raise ValueError(f"reward worker {worker} of {workers}: the index must be in 0..{workers - 1}")
        return replace(self, concurrency=self.concurrency // workers + (worker < self.concurrency % workers))

    def too_few_calls(self, workers: int) -> str | None:
        """What to set when not every reward worker could make a call; None when each can."""
        if self.concurrency >= workers:
            return None
        return (
            f"judges.{self.name}.concurrency={self.concurrency} is below reward.num_workers={workers}: it is the limit "
            "of the whole job, and each reward worker needs one call of it; raise the one or lower the other"
        )

    def api_key(self) -> str:
        """The key from the environment; raises ValueError when the named variable is unset. Never log the result."""
        if self.api_key_env is None:
            return NO_KEY
        key = os.environ.get(self.api_key_env)
        if not key:
            raise ValueError(
                f"judges.{self.name}.api_key_env={self.api_key_env!r}, but that variable is not set: export it, "
                "or set api_key_env to null for a server without a key"
            )
        return key


def _breaker(config: Any, where: str) -> BreakerSettings:
    _check_keys(config, BreakerSettings, where)
    return BreakerSettings(
        failures=int(_number(config, "failures", where, low=1, whole=True)),
        cooldown_s=_number(config, "cooldown_s", where, low=0.001),
    )


def _check_keys(config: Mapping[str, Any], cls: type, where: str, beside: Set[str] = frozenset()) -> None:
    if not isinstance(config, Mapping):
        raise ValueError(f"{where}={config!r} is not a section: give it keys")
    expected = {field.name for field in fields(cls)} - beside
    unknown = sorted(set(config) - expected)
    missing = sorted(expected - set(config))
    if unknown:
        raise ValueError(f"{where} has unknown key(s) {', '.join(unknown)}: use only {', '.join(sorted(expected))}")
    if missing:
        raise ValueError(f"{where} lacks key(s) {', '.join(missing)}: set them")


def _switch(config: Mapping[str, Any], key: str, where: str) -> bool:
    value = config[key]
    if not isinstance(value, bool):
        raise ValueError(f"{where}.{key}={value!r} is not a switch: set true or false")
    return value


def _number(config: Mapping[str, Any], key: str, where: str, low: float, whole: bool = False) -> float:
    value = config[key]
    kind = "a whole number" if whole else "a number"
    if isinstance(value, bool) or not isinstance(value, (int, float)) or (whole and value != int(value)):
        raise ValueError(f"{where}.{key}={value!r} is not {kind}: set {kind} of at least {low}")
    if not value >= low:
        raise ValueError(f"{where}.{key}={value!r} is too small: set {kind} of at least {low}")
    return float(value)


def _resources(value: Any, where: str) -> Mapping[str, float]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{where}={value!r} is not a mapping: write it as {{name: amount}}, or {{}} for none")
    return MappingProxyType({str(name): _number(value, name, where, low=0) for name in value})


def _sequence(value: Any, where: str) -> Sequence[Any]:
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ValueError(f"{where}={value!r} is not a list: write it as [..., ...]")
    return value
