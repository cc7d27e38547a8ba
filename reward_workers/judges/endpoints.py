"""The servers of one judge: which one takes the next call.

The least busy of the healthy ones; a server that failed is left alone for a while that doubles with each failure in a
row. When all have failed, the one whose rest ends first is tried, so that a restarted server is found again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

_FIRST_REST_S = 0.5
_LONGEST_REST_S = 30.0


@dataclass(slots=True)
class Endpoint:
    """One server: its root address, the calls it is answering, and how it has behaved."""

    base_url: str
    outstanding: int = 0
    failures_in_a_row: int = 0
    resting_until: float = 0.0
    last_used: int = 0


class EndpointPool:
    """The endpoints of one judge, for one event loop."""

    def __init__(self, base_urls: Sequence[str]) -> None:
        self._endpoints: dict[str, Endpoint] = {}
        self._turn = 0
        self.set_base_urls(base_urls)

    def set_base_urls(self, base_urls: Sequence[str]) -> None:
        """Replace the list; a server that stays keeps its state. Raises ValueError for an empty list."""
        if not base_urls:
            raise ValueError("a judge needs at least one base URL: set base_urls, or serve to start servers")
        self._endpoints = {url: self._endpoints.get(url) or Endpoint(url) for url in base_urls}

    @property
    def base_urls(self) -> tuple[str, ...]:
        return tuple(self._endpoints)

    def choose(self) -> Endpoint:
        """The endpoint for the next attempt; the caller calls :meth:`succeeded` or :meth:`failed` with the outcome."""
        now = time.monotonic()
        awake = [endpoint for endpoint in self._endpoints.values() if endpoint.resting_until <= now]
        if awake:
            chosen = min(awake, key=lambda endpoint: (endpoint.outstanding, endpoint.last_used))
        else:
            chosen = min(self._endpoints.values(), key=lambda endpoint: endpoint.resting_until)
        self._turn += 1
        chosen.last_used = self._turn
        return chosen

    def succeeded(self, endpoint: Endpoint) -> None:
        endpoint.failures_in_a_row = 0
        endpoint.resting_until = 0.0

    def failed(self, endpoint: Endpoint) -> None:
        endpoint.failures_in_a_row += 1
        rest_s = min(_LONGEST_REST_S, _FIRST_REST_S * 2 ** min(endpoint.failures_in_a_row - 1, 16))
        endpoint.resting_until = time.monotonic() + rest_s
