"""The servers of one judge: which one takes the next call, and whether any may.

The least busy of the healthy ones. A server that failed is avoided for a while that doubles with each failure in a row,
as long as there is another; one that keeps failing is closed off by its circuit breaker. With all breakers open the
judge itself is open: nobody is asked, until the first pause is over and one call probes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from foundation.settings.judges import BreakerSettings
from reward_workers.judges.endpoint.breaker import Breaker

_FIRST_REST_S = 0.5


@dataclass(slots=True)
class Endpoint:
    """One server: its root address, the calls it is answering, and how it has behaved.

    Attributes:
        resting_until: the server is avoided until then, on the pool's clock, when another one is awake.
        last_used: number of the choice that took it last, to take turns among equals.
        last_failure: what its newest failed attempt said; the text of a log line.
    """

    base_url: str
    breaker: Breaker
    outstanding: int = 0
    resting_until: float = 0.0
    last_used: int = 0
    last_failure: str = ""


class EndpointPool:
    """The endpoints of one judge, for one event loop.

    The caller of :meth:`begin` hands each outcome back once: succeeded, busy, failed or abandoned.
    """

    def __init__(
        self, base_urls: Sequence[str], breaker: BreakerSettings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = breaker
        self._clock = clock
        self._endpoints: dict[str, Endpoint] = {}
        self._turn = 0
        self.set_base_urls(base_urls)

    def set_base_urls(self, base_urls: Sequence[str]) -> None:
        """Replace the list; a server that stays keeps its state. Raises ValueError for an empty list."""
        if not base_urls:
            raise ValueError("a judge needs at least one base URL: set base_urls, or serve to start servers")
        self._endpoints = {
            url: self._endpoints.get(url) or Endpoint(url, Breaker(self._settings, self._clock)) for url in base_urls
        }

    @property
    def base_urls(self) -> tuple[str, ...]:
        return tuple(self._endpoints)

    @property
    def admitting(self) -> int:
        """Endpoints that a call may go to now."""
        return sum(endpoint.breaker.admits() for endpoint in self._endpoints.values())

    @property
    def is_open(self) -> bool:
        """Whether no endpoint admits a call: the breaker of the judge."""
        return self.admitting == 0

    def last_failures(self) -> str:
        """What each endpoint said when it failed last, for a failure's text."""
        return "; ".join(endpoint.last_failure for endpoint in self._endpoints.values() if endpoint.last_failure)

    def begin(self) -> tuple[Endpoint, int] | None:
        """The endpoint of the next attempt and the ticket of its breaker; None when all breakers are open."""
        admitting = [endpoint for endpoint in self._endpoints.values() if endpoint.breaker.admits()]
        if not admitting:
            return None
        now = self._clock()
        awake = [endpoint for endpoint in admitting if endpoint.resting_until <= now]
        if awake:
            chosen = min(awake, key=lambda endpoint: (endpoint.outstanding, endpoint.last_used))
        else:
            chosen = min(admitting, key=lambda endpoint: endpoint.resting_until)
        self._turn += 1
        chosen.last_used = self._turn
        chosen.outstanding += 1
        return chosen, chosen.breaker.begin()

    def succeeded(self, endpoint: Endpoint) -> None:
        """The server is alive; what it answered does not matter here."""
        endpoint.outstanding -= 1
        endpoint.resting_until = 0.0
        endpoint.breaker.succeeded()

    def failed(self, endpoint: Endpoint, ticket: int, said: str) -> bool:
        """The server gave no answer; returns whether its breaker opened because of it."""
        endpoint.outstanding -= 1
        endpoint.last_failure = said
        opened = endpoint.breaker.failed(ticket)
        rest_s = _FIRST_REST_S * 2 ** min(max(endpoint.breaker.failures_in_a_row - 1, 0), 16)
        endpoint.resting_until = self._clock() + min(rest_s, self._settings.cooldown_s)
        return opened

    def busy(self, endpoint: Endpoint, pause_s: float) -> None:
        """The server is alive and wants no more calls for a while (429): others go first, its breaker stays."""
        endpoint.outstanding -= 1
        endpoint.resting_until = self._clock() + max(pause_s, _FIRST_REST_S)
        endpoint.breaker.succeeded()

    def abandoned(self, endpoint: Endpoint, ticket: int) -> None:
        """The attempt was cancelled: nothing was learnt."""
        endpoint.outstanding -= 1
        endpoint.breaker.abandoned(ticket)
