"""Request and token counts out of the text that a vLLM server gives at ``/metrics``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from prometheus_client.parser import text_string_to_metric_families

_COUNTERS: Mapping[str, str] = {
    "vllm:request_success_total": "requests",
    "vllm:prompt_tokens_total": "prompt_tokens",
    "vllm:generation_tokens_total": "generation_tokens",
}
_UNANSWERED = frozenset({"abort", "error"})


@dataclass(frozen=True, slots=True)
class ServerCounts:
    """Requests that a server answered, and the tokens it read and generated."""

    requests: int = 0
    prompt_tokens: int = 0
    generation_tokens: int = 0

    def __add__(self, other: ServerCounts) -> ServerCounts:
        return ServerCounts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


def read_counts(exposition: str) -> ServerCounts:
    """Sum the counters over engines and finish reasons; requests that were aborted or failed do not count.

    Raises:
        ValueError: the text is no Prometheus exposition, or holds no request counter.
    """
    totals: dict[str, float] = {}
    for family in text_string_to_metric_families(exposition):
        for sample in family.samples:
            name = _COUNTERS.get(sample.name)
            if name is not None and sample.labels.get("finished_reason") not in _UNANSWERED:
                totals[name] = totals.get(name, 0.0) + sample.value
    if "requests" not in totals:
        raise ValueError(
            "no vllm:request_success_total among the metrics: the server is no vLLM, or counts differently"
        )
    return ServerCounts(**{name: int(value) for name, value in totals.items()})
