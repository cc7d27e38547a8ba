"""The typed form of one ``judges.<name>`` section of the configuration, and of a model that an evaluation asks.

Every key must be present: a default that no configuration file shows would be a hidden one. A validator that looks at
two keys is one of the later key, so that its problem is listed beside those of the others.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from foundation.settings.judge_kinds import ASKED_BY
from foundation.settings.section_check import check_section
from foundation.settings.sections import Count, Positive, Section

LANGUAGES = ("en", "zh")
NO_KEY = "EMPTY"
"""What vLLM and other key-less servers accept in place of an API key."""


def _texts(value: Any) -> tuple[str, ...]:
    """A list of texts or numbers as texts; null is an empty one."""
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ValueError("set a list: [..., ...]")
    return tuple(str(part) for part in value)


def _urls(value: Any) -> tuple[str, ...]:
    urls = tuple(url.rstrip("/") for url in _texts(value))
    if not all(url.startswith(("http://", "https://")) for url in urls):
        raise ValueError("set a list of http://host:port/v1")
    return urls


def _environment(value: Any) -> Any:
    return {str(key): str(text) for key, text in (value or {}).items()} if isinstance(value or {}, Mapping) else value


def _text_that_is(what: str) -> BeforeValidator:
    def check(value: Any) -> str:
        if not isinstance(value, str) or not value:
            raise ValueError(f"set {what}")
        return value

    return BeforeValidator(check)


Texts = Annotated[tuple[str, ...], BeforeValidator(_texts)]
Urls = Annotated[tuple[str, ...], BeforeValidator(_urls)]
Environment = Annotated[dict[str, str], BeforeValidator(_environment)]
Amount = Annotated[float, Field(ge=0)]
Patience = Annotated[float, Field(ge=0.001)]
StartSeconds = Annotated[float, Field(ge=1)]


class BreakerSettings(Section):
    """When a breaker opens, and for how long.

    Attributes:
        failures: failed attempts in a row that open it, at least 1.
        cooldown_s: time without calls before one is let through to probe, in seconds, above 0.
    """

    failures: Positive
    cooldown_s: Patience


class ServeSettings(Section):
    """How the job runs the replicas of one model.

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

    model_path: Annotated[str, _text_that_is("the folder or hub name of the checkpoint")]
    replicas: Positive
    gpus_per_replica: Amount
    cpus_per_replica: Amount
    resources: dict[str, Amount]
    tensor_parallel_size: Positive
    max_model_len: Positive
    ready_timeout_s: StartSeconds
    hung_after_s: StartSeconds
    max_restarts: Count
    idle_priority: bool
    args: Texts
    env: Environment

    @field_validator("tensor_parallel_size")
    @classmethod
    def _has_its_gpus(cls, size: int, info: ValidationInfo) -> int:
        gpus = info.data.get("gpus_per_replica", 0)
        if 0 < gpus < 1 < size or 1 <= gpus < size:
            raise ValueError(
                f"needs as many GPUs, but gpus_per_replica={gpus:g}: raise gpus_per_replica or lower "
                "tensor_parallel_size"
            )
        return size


class ServedModel(Section):
    """A model behind servers: where it is asked, and how long a call may take.

    Attributes:
        name: what its section is called, such as ``fallback`` of ``judges.fallback``; not a key of it.
        model: model name that the servers answer to.
        base_urls: OpenAI-compatible roots that end in ``/v1``; filled in by the fleet when the job serves the model.
        serve: how to start servers; None when someone else runs them.
        api_key_env: name of the environment variable that holds the key; None for servers without one.
        timeout_s, total_timeout_s: limit of one attempt, and of one call with all its attempts, in seconds.
        max_attempts: attempts of one call, 1 = no retry.
        breaker: when a server that keeps failing is left alone, and for how long.
        concurrency: calls in flight at once.
    """

    name: Annotated[str, Field(exclude=True)]
    model: Annotated[str, _text_that_is("the model name that the servers answer to")]
    base_urls: Urls
    serve: ServeSettings | None
    api_key_env: str | None
    timeout_s: Patience
    total_timeout_s: Patience
    max_attempts: Positive
    breaker: BreakerSettings
    concurrency: Positive

    @field_validator("serve")
    @classmethod
    def _is_somewhere(cls, serve: ServeSettings | None, info: ValidationInfo) -> ServeSettings | None:
        if serve is None and info.data.get("base_urls") == ():
            raise ValueError("without base_urls nobody can be asked: set serve or base_urls")
        return serve

    @field_validator("total_timeout_s")
    @classmethod
    def _holds_an_attempt(cls, total_s: float, info: ValidationInfo) -> float:
        attempt_s = info.data.get("timeout_s", 0.0)
        if total_s < attempt_s:
            raise ValueError(f"below timeout_s={attempt_s}: raise it")
        return total_s

    @classmethod
    def read(cls, section: Any, name: str, where: str, problems: list[str]) -> Self | None:
        """The checked section, or None where something is wrong with it.

        Args:
            where: where it stands in the configuration, such as ``judges.fallback``.
            problems: gets one line for every problem: key, value, what to set.
        """
        if not isinstance(section, Mapping):
            return check_section(cls, section, where, problems)
        if "name" in section:
            problems.append(f"{where}.name: no such key in {where}: the section is called {name}")
        return check_section(cls, {**section, "name": name}, where, problems)

    @classmethod
    def from_config(cls, section: Any, name: str, where: str | None = None) -> Self:
        """The checked section; raises ValueError with a line for every problem.

        Args:
            where: where it stands in the configuration; None for ``judges.<name>``.
        """
        problems: list[str] = []
        read = cls.read(section, name, where or f"judges.{name}", problems)
        if read is None or problems:
            raise ValueError("\n".join(problems))
        return read

    @property
    def decoding(self) -> dict[str, Any]:
        """Fields of a request that brings none of its own."""
        return {}

    def with_base_urls(self, base_urls: Sequence[str]) -> Self:
        """The same model at other addresses."""
        return self.model_copy(update={"base_urls": tuple(url.rstrip("/") for url in base_urls)})

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


class JudgeSettings(ServedModel):
    """One judge: a served model, and what it is asked. Its concurrency is that of the whole job.

    Attributes:
        prompt, language: template of :mod:`reward_workers.judges.prompts.render`, and its language.
        temperature: sampling temperature, 0 or more.
        max_tokens: longest answer in tokens.
    """

    prompt: str
    language: str
    temperature: Amount
    max_tokens: Positive

    @field_validator("prompt")
    @classmethod
    def _known_prompt(cls, prompt: str) -> str:
        if prompt not in ASKED_BY:
            raise ValueError(f"unknown: use one of {', '.join(ASKED_BY)}")
        return prompt

    @field_validator("language")
    @classmethod
    def _known_language(cls, language: str) -> str:
        if language not in LANGUAGES:
            raise ValueError(f"unknown: use one of {', '.join(LANGUAGES)}")
        return language

    @property
    def decoding(self) -> dict[str, Any]:
        return {"temperature": self.temperature, "max_tokens": self.max_tokens}

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
        share = self.concurrency // workers + (worker < self.concurrency % workers)
        return self.model_copy(update={"concurrency": share})

    def too_few_calls(self, workers: int) -> str | None:
        """What to set when not every reward worker could make a call; None when each can."""
        if self.concurrency >= workers:
            return None
        return (
            f"judges.{self.name}.concurrency={self.concurrency} is below reward.num_workers={workers}: it is the limit "
            "of the whole job, and each reward worker needs one call of it; raise the one or lower the other"
        )
