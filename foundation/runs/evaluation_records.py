"""The records of an evaluation: prompt, generation, and the response with everything that was said about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from foundation.labels import trigger
from foundation.responses.families import Mode

Outcome = Literal["answered", "empty", "failed"]
"""``empty``: the model generated, and nothing of it is visible; ``failed``: the endpoint gave no generation."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question with its images.

    Attributes:
        prompt_id: unique in its file.
        source: data set of origin.
        family, category: of the taxonomy (paper, Table 1).
        question: what the model is asked, without image placeholders.
        options: texts of A, B, ... of a choice question.
        images: path, URL, data URL, or bytes of a file, in the order in which they are shown.
        reference: reference answer; empty where there is none (correctness is then unscored).
        answer_type: one of the verifier's, None to infer it.
        criteria: how the source data set decides correctness, for the judge; empty where it says nothing.
    """

    prompt_id: str
    source: str
    family: str
    category: str
    question: str
    options: tuple[str, ...] | None
    images: tuple[str | bytes, ...]
    reference: str
    answer_type: str | None = None
    criteria: str = ""


@dataclass(frozen=True, slots=True)
class Generation:
    """One answer of a model in one mode, as it came and as the user sees it.

    Attributes:
        raw: message content with special tokens, as the server sent it.
        reasoning: the reasoning channel; never judged.
        visible: what the user sees; empty when there is nothing.
        flags: of `foundation.responses.channels`.
        finish_reason: as the server says; "length" means cut.
        decoding: parameters of the request.
        n_tokens: generated tokens, reasoning included; None where the server does not say.
        n_chars: characters of the visible response.
        prompt_tail: how the rendered prompt ended; None when unknown.
        error: why there is no generation; empty when there is one.
        latency_s: wall time of the call in seconds; not part of any figure.
    """

    prompt_id: str
    model: str
    mode: Mode
    raw: str
    reasoning: str
    visible: str
    flags: tuple[str, ...]
    finish_reason: str | None
    decoding: Mapping[str, Any]
    n_tokens: int | None
    n_chars: int
    prompt_tail: str | None = None
    error: str = ""
    latency_s: float = 0.0

    @property
    def outcome(self) -> Outcome:
        if self.error:
            return "failed"
        return "answered" if self.visible else "empty"


@dataclass(frozen=True, slots=True)
class Response:
    """One generation with its verdict and labels: what every figure of a report is computed of.

    Attributes:
        correct: 1, 0, or None where it could not be scored; `correct_by`: verifier stage or ``judge``, and the reason.
        labels: the labels by majority of the judges, None where there are none; `label_reason`: why not.
        votes: labels of each pattern judge that answered, by its name.
        evidence: what the judges quoted or which rule spoke, by label.
        truth: labels of known truth (a synthetic corpus), None elsewhere.
    """

    model: str
    mode: Mode
    prompt_id: str
    family: str
    category: str
    question: str = ""
    reference: str = ""
    visible: str = ""
    outcome: Outcome = "answered"
    finish_reason: str | None = "stop"
    flags: tuple[str, ...] = ()
    n_tokens: int | None = None
    n_chars: int = 0
    correct: int | None = None
    correct_by: str = ""
    labels: Mapping[str, bool] | None = None
    label_reason: str = ""
    votes: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    evidence: Mapping[str, str] = field(default_factory=dict)
    truth: Mapping[str, bool] | None = None

    @property
    def trigger(self) -> bool | None:
        """One label at least."""
        return None if self.labels is None else trigger(self.labels)

    @property
    def truncated(self) -> bool:
        return self.finish_reason == "length"
