"""The judge client, one for training and for evaluation.

It talks to OpenAI-compatible servers and never raises for what a server does: a call ends in a reply or in a failure
with a reason. What is the caller's mistake (no address, no key) raises ValueError when the client is built.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import openai
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt
from tenacity.wait import wait_random_exponential

from reward_workers.judges.endpoints import Endpoint, EndpointPool
from reward_workers.judges.settings import JudgeSettings

RETRIED_STATUS = frozenset({408, 429})
"""Client-error codes that are worth another attempt; every 5xx is, no other 4xx is."""

_TOP_LOGPROBS = 5
_KEPT_LATENCIES = 4096
_LONGEST_WAIT_S = 10.0


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """One generated token: its text, its log-probability, and the likeliest tokens at its place."""

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """What a judge answered.

    Attributes:
        text: content of the message, not stripped.
        finish_reason: ``stop``, ``length``, ... as the server says; None when it does not.
        logprobs: one entry per generated token, None when not asked for or not given.
        latency_s: wall time of the call with all its attempts, without waiting for a free slot.
        attempts: requests sent, 1 = no retry.
        base_url: the server that answered.
    """

    text: str
    finish_reason: str | None
    logprobs: tuple[TokenLogprob, ...] | None
    latency_s: float
    attempts: int
    base_url: str


@dataclass(frozen=True, slots=True)
class JudgeFailure:
    """A call without a usable reply.

    Attributes:
        reason: ``timeout``, ``deadline``, ``connection``, ``http_<status>``, ``bad_body``, ``empty_choices``, ``null``.
        detail: what the server or library said, at most 200 characters.
        latency_s, attempts: as in :class:`JudgeReply`.
    """

    reason: str
    detail: str
    latency_s: float
    attempts: int


@dataclass(frozen=True, slots=True)
class JudgeStats:
    """Counts since the client was built; latencies are those of the last calls, in seconds."""

    calls: int
    attempts: int
    retries: int
    failures: Mapping[str, int]
    latencies_s: tuple[float, ...]


class _AttemptFailed(Exception):
    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail[:200]


class _WorthRetrying(_AttemptFailed):
    def __init__(self, reason: str, detail: str, after_s: float = 0.0) -> None:
        super().__init__(reason, detail)
        self.after_s = after_s


class JudgeClient:
    """Calls one judge; build it once per event loop and share it.

    >>> client = JudgeClient(settings)  # doctest: +SKIP
    >>> outcome = await client.complete([{"role": "user", "content": "..."}])  # doctest: +SKIP
    """

    def __init__(self, settings: JudgeSettings) -> None:
        self.settings = settings
        self._endpoints = EndpointPool(settings.base_urls)
        # One client and so one connection pool for all addresses; retries are ours, over all replicas.
        self._openai = openai.AsyncOpenAI(
            api_key=settings.api_key(), base_url=settings.base_urls[0], max_retries=0, timeout=settings.timeout_s
        )
        self._at: dict[str, openai.AsyncOpenAI] = {}
        self._slots = asyncio.Semaphore(settings.concurrency)
        self._backoff = wait_random_exponential(multiplier=0.2, max=_LONGEST_WAIT_S)
        self._calls = 0
        self._attempts = 0
        self._failures: Counter[str] = Counter()
        self._latencies: deque[float] = deque(maxlen=_KEPT_LATENCIES)

    @property
    def base_urls(self) -> tuple[str, ...]:
        return self._endpoints.base_urls

    def set_base_urls(self, base_urls: Sequence[str]) -> None:
        """Use other servers from the next attempt on; calls in flight finish where they are."""
        self._endpoints.set_base_urls([url.rstrip("/") for url in base_urls])

    def stats(self) -> JudgeStats:
        return JudgeStats(
            self._calls, self._attempts, self._attempts - self._calls, dict(self._failures), tuple(self._latencies)
        )

    async def aclose(self) -> None:
        """Close the connections; the client is of no use afterwards."""
        await self._openai.close()

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        logprobs: bool = False,
        extra_body: Mapping[str, Any] | None = None,
    ) -> JudgeReply | JudgeFailure:
        """One chat completion.

        Args:
            messages: chat messages in the OpenAI form.
            logprobs: ask for the log-probabilities of the generated tokens and their likeliest rivals.
            extra_body: further fields of the request, such as vLLM's ``structured_outputs``.

        Returns:
            The reply, or the failure that remained after all attempts. Cancellation propagates and closes the
            request, which makes vLLM abort it.
        """
        request: dict[str, Any] = {
            "model": self.settings.model,
            "messages": list(messages),
            "temperature": self.settings.temperature,
            "max_tokens": self.settings.max_tokens,
        }
        if logprobs:
            request |= {"logprobs": True, "top_logprobs": _TOP_LOGPROBS}
        if extra_body:
            request["extra_body"] = dict(extra_body)
        async with self._slots:
            outcome = await self._with_retries(request)
        self._calls += 1
        self._attempts += outcome.attempts
        self._latencies.append(outcome.latency_s)
        if isinstance(outcome, JudgeFailure):
            self._failures[outcome.reason] += 1
        return outcome

    async def _with_retries(self, request: dict[str, Any]) -> JudgeReply | JudgeFailure:
        start = time.monotonic()
        attempts = 0
        failed = _AttemptFailed("deadline", f"no reply within total_timeout_s={self.settings.total_timeout_s}")
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(_WorthRetrying),
            stop=stop_after_attempt(self.settings.max_attempts),
            wait=self._pause,
            reraise=True,
        )
        try:
            async with asyncio.timeout(self.settings.total_timeout_s):
                async for attempt in retrying:
                    with attempt:
                        attempts += 1
                        text, finish_reason, tokens, base_url = await self._attempt(request)
                        latency_s = time.monotonic() - start
                        return JudgeReply(text, finish_reason, tokens, latency_s, attempts, base_url)
        except _AttemptFailed as error:
            failed = error
        except TimeoutError:
            pass  # the deadline over all attempts; `failed` says so already
        return JudgeFailure(failed.reason, failed.detail, time.monotonic() - start, attempts)

    def _pause(self, state: RetryCallState) -> float:
        """Jittered exponential pause, or what the server asked for when that is longer."""
        error = state.outcome.exception() if state.outcome is not None else None
        asked_s = error.after_s if isinstance(error, _WorthRetrying) else 0.0
        return max(asked_s, self._backoff(state))

    async def _attempt(self, request: dict[str, Any]) -> tuple[str, str | None, tuple[TokenLogprob, ...] | None, str]:
        endpoint = self._endpoints.choose()
        endpoint.outstanding += 1
        try:
            # The library's timeout restarts with every chunk of the body; this one does not.
            async with asyncio.timeout(self.settings.timeout_s):
                completion = await self._client_at(endpoint).chat.completions.create(**request)
        except (TimeoutError, openai.APITimeoutError) as error:
            self._endpoints.failed(endpoint)
            raise _WorthRetrying("timeout", f"{endpoint.base_url}: over {self.settings.timeout_s} s") from error
        except openai.APIStatusError as error:
            detail = f"{endpoint.base_url}: {error.message}"
            if error.status_code in RETRIED_STATUS or error.status_code >= 500:
                self._endpoints.failed(endpoint)
                after_s = _retry_after_s(error.response.headers.get("retry-after"))
                raise _WorthRetrying(f"http_{error.status_code}", detail, after_s) from error
            raise _AttemptFailed(f"http_{error.status_code}", detail) from error
        except openai.APIConnectionError as error:
            self._endpoints.failed(endpoint)
            raise _WorthRetrying("connection", f"{endpoint.base_url}: {error.__cause__ or error}") from error
        except (openai.OpenAIError, ValueError) as error:  # a body that is no JSON, or not of the expected form
            self._endpoints.failed(endpoint)
            raise _WorthRetrying("bad_body", f"{endpoint.base_url}: {type(error).__name__}") from error
        finally:
            endpoint.outstanding -= 1
        self._endpoints.succeeded(endpoint)
        return *_content(completion), endpoint.base_url

    def _client_at(self, endpoint: Endpoint) -> openai.AsyncOpenAI:
        if endpoint.base_url not in self._at:
            self._at[endpoint.base_url] = self._openai.with_options(base_url=endpoint.base_url)
        return self._at[endpoint.base_url]


def _content(completion: Any) -> tuple[str, str | None, tuple[TokenLogprob, ...] | None]:
    """Text, finish reason and log-probabilities; the library does not validate what servers send, so this does."""
    choices = getattr(completion, "choices", None)
    if not isinstance(choices, list):
        raise _AttemptFailed("bad_body", f"no list of choices in a {type(completion).__name__}")
    if not choices:
        raise _AttemptFailed("empty_choices", "the list of choices is empty")
    text = getattr(getattr(choices[0], "message", None), "content", None)
    finish_reason = getattr(choices[0], "finish_reason", None)
    if not isinstance(text, str):
        raise _AttemptFailed("null", f"message.content is {type(text).__name__}, finish_reason {finish_reason}")
    given = getattr(getattr(choices[0], "logprobs", None), "content", None)
    tokens = None
    if given:
        tokens = tuple(
            TokenLogprob(
                entry.token, entry.logprob, tuple((top.token, top.logprob) for top in entry.top_logprobs or ())
            )
            for entry in given
        )
    return text, finish_reason, tokens


def _retry_after_s(header: str | None) -> float:
    """Seconds of a Retry-After header, at most the longest pause of our own; 0 for none or a date."""
    if header is None or not header.strip().isdecimal():
        return 0.0
    return min(float(header), _LONGEST_WAIT_S)
