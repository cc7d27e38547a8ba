"""The judge client, one for training and for evaluation.

It talks to OpenAI-compatible servers and never raises for what a server does: a call ends in a reply or in a failure
with a reason. What is the caller's mistake (no address, no key) raises ValueError when the client is built.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import openai
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type
from tenacity.wait import wait_random_exponential

from foundation.settings.judges import ServedModel
from reward_workers.judges.endpoint.completion import Completion, TokenLogprob, Unusable, read_completion, retry_after_s
from reward_workers.judges.endpoint.endpoints import Endpoint, EndpointPool

logger = logging.getLogger(__name__)

RETRIED_STATUS = frozenset({408, 429})
"""Client-error codes that are worth another attempt; every 5xx is, no other 4xx is."""

BUSY_STATUS = 429
"""The server is alive and asks for a pause: no failure of its breaker."""

_TOP_LOGPROBS = 5
_LONGEST_BACKOFF_S = 10.0
_KEEPALIVE_S = 3.0
"""Idle connections are closed before vLLM's servers do so (after 5 s): one that is being closed fails its next call."""


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """What a judge answered.

    Attributes:
        text, finish_reason, logprobs, reasoning, n_prompt_tokens, n_tokens: as in
            :class:`reward_workers.judges.endpoint.completion.Completion`.
        latency_s: wall time of the call with all its attempts, without waiting for a free slot.
        attempts: requests sent, 1 = no retry.
        openings: circuit breakers that opened because of its attempts.
        base_url: the server that answered.
    """

    text: str
    finish_reason: str | None
    logprobs: tuple[TokenLogprob, ...] | None
    latency_s: float
    attempts: int
    openings: int
    base_url: str
    reasoning: str = ""
    n_prompt_tokens: int | None = None
    n_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class JudgeFailure:
    """A call without a usable reply.

    Attributes:
        reason: ``timeout``, ``deadline``, ``connection``, ``http_<status>``, ``bad_body``, ``empty_choices``, ``null``,
            ``refusal``; ``breaker_open`` when nobody was asked, because every server of the judge keeps failing.
        detail: what the server or library said, at most 200 characters.
        latency_s, attempts, openings: as in :class:`JudgeReply`; attempts is 0 with ``breaker_open``.
    """

    reason: str
    detail: str
    latency_s: float
    attempts: int
    openings: int


class _AttemptFailed(Exception):
    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail[:200]


class _WorthRetrying(_AttemptFailed):
    def __init__(self, reason: str, detail: str, after_s: float = 0.0) -> None:
        super().__init__(reason, detail)
        self.after_s = after_s


@dataclass(slots=True)
class _Call:
    """One call while it lasts: what was sent, what became of it."""

    request: dict[str, Any]
    needs_text: bool = True
    start: float = field(default_factory=time.monotonic)
    attempts: int = 0
    openings: int = 0
    failed: _AttemptFailed | None = None

    def failure(self, error: _AttemptFailed) -> JudgeFailure:
        return JudgeFailure(error.reason, error.detail, time.monotonic() - self.start, self.attempts, self.openings)


class JudgeClient:
    """Calls one judge; build it once per event loop and share it.

    At most ``settings.concurrency`` calls are in flight, over one pool of as many connections; the others wait in line
    with nothing but their messages.

    >>> client = JudgeClient(settings)  # doctest: +SKIP
    >>> outcome = await client.complete([{"role": "user", "content": "..."}])  # doctest: +SKIP
    """

    def __init__(self, settings: ServedModel) -> None:
        self.settings = settings
        self._endpoints = EndpointPool(settings.base_urls, settings.breaker)
        # The class of the limits is that of the HTTP library which openai uses: httpx, or its successor.
        limits = type(openai.DEFAULT_CONNECTION_LIMITS)(
            max_connections=settings.concurrency,
            max_keepalive_connections=settings.concurrency,
            keepalive_expiry=_KEEPALIVE_S,
        )
        # One connection pool for all addresses: aiohttp's, because httpx looks at every connection for every request.
        # Retries are ours, over all replicas, and so are the timeouts: the library's restart with each chunk of a body.
        self._openai = openai.AsyncOpenAI(
            api_key=settings.api_key(),
            base_url=settings.base_urls[0],
            max_retries=0,
            timeout=None,
            http_client=openai.DefaultAioHttpClient(limits=limits, timeout=None),
        )
        self._at: dict[str, openai.AsyncOpenAI] = {}
        self._slots = asyncio.Semaphore(settings.concurrency)
        self._backoff = wait_random_exponential(multiplier=0.2, max=_LONGEST_BACKOFF_S)

    @property
    def base_urls(self) -> tuple[str, ...]:
        return self._endpoints.base_urls

    @property
    def admitting(self) -> int:
        """Servers that a call may go to now; the breakers of the others are open."""
        return self._endpoints.admitting

    def set_base_urls(self, base_urls: Sequence[str]) -> None:
        """Use other servers from the next attempt on; calls in flight finish where they are."""
        self._endpoints.set_base_urls([url.rstrip("/") for url in base_urls])
        self._at = {url: client for url, client in self._at.items() if url in self._endpoints.base_urls}

    async def aclose(self) -> None:
        """Close the connections; the client is of no use afterwards."""
        await self._openai.close()

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        logprobs: bool = False,
        extra_body: Mapping[str, Any] | None = None,
        decoding: Mapping[str, Any] | None = None,
        needs_text: bool = True,
    ) -> JudgeReply | JudgeFailure:
        """One chat completion.

        Args:
            messages: chat messages in the OpenAI form.
            logprobs: ask for the log-probabilities of the generated tokens and their likeliest rivals.
            extra_body: further fields of the request, such as vLLM's ``structured_outputs``.
            decoding: fields of the request in the place of the settings' own (`ServedModel.decoding`).
            needs_text: a message without content is a failure; False for a model under evaluation.

        Returns:
            The reply, or the failure that remained after all attempts. Cancellation propagates and closes the
            request, which makes vLLM abort it.
        """
        request: dict[str, Any] = {"model": self.settings.model, "messages": list(messages)}
        if decoding is None:
            request |= self.settings.decoding
        if logprobs:
            request |= {"logprobs": True, "top_logprobs": _TOP_LOGPROBS}
        request |= {**(extra_body or {}), **(decoding or {})}
        if self._endpoints.is_open:  # also for those who would wait behind calls to a server that hangs
            return _Call(request, needs_text).failure(self._nobody_to_ask())
        async with self._slots:
            return await self._with_retries(_Call(request, needs_text))

    async def _with_retries(self, call: _Call) -> JudgeReply | JudgeFailure:
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(_WorthRetrying), stop=self._gives_up, wait=self._pause, reraise=True
        )
        try:
            async with asyncio.timeout(self.settings.total_timeout_s):
                async for attempt in retrying:
                    with attempt:
                        return await self._attempt(call)
        except _AttemptFailed as error:
            return call.failure(error)
        except TimeoutError:
            before = f", last: {call.failed.reason}" if call.failed is not None else ""
            detail = f"no reply within total_timeout_s={self.settings.total_timeout_s}{before}"
            return call.failure(_AttemptFailed("deadline", detail))
        raise AssertionError("tenacity ends with a return or an exception")

    def _gives_up(self, state: RetryCallState) -> bool:
        """After the last attempt, and when the server asks for a pause that outlasts the deadline of the call."""
        asked_s = _asked_s(state)
        late = asked_s > 0 and (state.seconds_since_start or 0.0) + asked_s >= self.settings.total_timeout_s
        return late or state.attempt_number >= self.settings.max_attempts

    def _pause(self, state: RetryCallState) -> float:
        """A random pause that grows, after what the server asked for: its callers must not all return at once."""
        return _asked_s(state) + self._backoff(state)

    async def _attempt(self, call: _Call) -> JudgeReply:
        begun = self._endpoints.begin()
        if begun is None:
            raise _AttemptFailed(call.failed.reason, call.failed.detail) if call.failed else self._nobody_to_ask()
        endpoint, ticket = begun
        call.attempts += 1
        try:
            async with asyncio.timeout(self.settings.timeout_s):
                # Not chat.completions.create: its typed copies of request and answer take half the time of a call.
                body = await self._client_at(endpoint).post("/chat/completions", body=call.request, cast_to=object)
        except (TimeoutError, openai.OpenAIError, aiohttp.ClientError, ValueError, RecursionError) as error:
            call.failed = self._why(error, endpoint)
            self._hand_back(call, call.failed, endpoint, ticket)
            raise call.failed from error
        except BaseException:  # cancelled, or a fault of ours
            self._endpoints.abandoned(endpoint, ticket)
            raise
        self._endpoints.succeeded(endpoint)
        answer = read_completion(body, call.needs_text)
        if isinstance(answer, Unusable):
            raise _AttemptFailed(answer.reason, answer.detail)
        return _reply(answer, call, endpoint.base_url)

    def _why(self, error: Exception, endpoint: Endpoint) -> _AttemptFailed:
        """What an exception of the library says about the server."""
        url = endpoint.base_url
        if isinstance(error, TimeoutError):
            return _WorthRetrying("timeout", f"{url}: over {self.settings.timeout_s} s")
        if isinstance(error, openai.APIStatusError):
            reason, detail = f"http_{error.status_code}", f"{url}: {error.message}"
            if error.status_code in RETRIED_STATUS or error.status_code >= 500:
                return _WorthRetrying(reason, detail, retry_after_s(error.response.headers.get("retry-after")))
            return _AttemptFailed(reason, detail)
        if isinstance(error, openai.APIConnectionError | aiohttp.ClientError):  # also what openai takes for a timeout
            return _WorthRetrying("connection", f"{url}: {error.__cause__ or error}")
        return _WorthRetrying("bad_body", f"{url}: {type(error).__name__}")  # no JSON, or not of the expected form

    def _hand_back(self, call: _Call, failed: _AttemptFailed, endpoint: Endpoint, ticket: int) -> None:
        """Tell the pool what an attempt says about the health of its server."""
        if not isinstance(failed, _WorthRetrying):
            self._endpoints.succeeded(endpoint)  # it refused this request: it is alive
        elif failed.reason == f"http_{BUSY_STATUS}":
            self._endpoints.busy(endpoint, failed.after_s)
        elif self._endpoints.failed(endpoint, ticket, failed.detail):
            call.openings += 1
            logger.warning(
                "judges.%s: no calls to %s for %g s, after %d failures in a row (%s)",
                self.settings.name,
                endpoint.base_url,
                self.settings.breaker.cooldown_s,
                endpoint.breaker.failures_in_a_row,
                failed.detail,
            )

    def _nobody_to_ask(self) -> _AttemptFailed:
        return _AttemptFailed("breaker_open", f"all servers keep failing: {self._endpoints.last_failures()}")

    def _client_at(self, endpoint: Endpoint) -> openai.AsyncOpenAI:
        if endpoint.base_url not in self._at:
            self._at[endpoint.base_url] = self._openai.with_options(base_url=endpoint.base_url)
        return self._at[endpoint.base_url]


def _reply(answer: Completion, call: _Call, base_url: str) -> JudgeReply:
    return JudgeReply(
        answer.text,
        answer.finish_reason,
        answer.logprobs,
        time.monotonic() - call.start,
        call.attempts,
        call.openings,
        base_url,
        answer.reasoning,
        answer.n_prompt_tokens,
        answer.n_tokens,
    )


def _asked_s(state: RetryCallState) -> float:
    """The pause that the server asked for with its last answer, in seconds."""
    error = state.outcome.exception() if state.outcome is not None else None
    return error.after_s if isinstance(error, _WorthRetrying) else 0.0
