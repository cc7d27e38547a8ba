"""What every judge has: its settings, a client, a memory of its answers, and a state to report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Self

from foundation.settings.judge_kinds import misfit
from foundation.settings.judges import JudgeSettings
from foundation.settings.sections import RewardMix
from reward_workers.judges.endpoint.cache import Json, JudgeCache
from reward_workers.judges.endpoint.client import JudgeClient
from reward_workers.judges.questions import Questions, Read
from reward_workers.judges.serving.health import JudgeHealth


class Judge(Generic[Read]):
    """One judge; a subclass says what it asks and how an answer is read.

    Args:
        settings: its section; raises ValueError where another class asks with that prompt.
        cache: where answers outlive this process; None keeps them in memory only.
        reminder: prompt with which a reply that cannot be read is asked for again.
        encode, decode: an answer as JSON, and back (`reward_workers.judges.questions`).
    """

    def __init__(
        self,
        settings: JudgeSettings,
        cache: JudgeCache | None,
        *,
        reminder: str,
        encode: Callable[[Read], Json],
        decode: Callable[[Json], Read],
    ) -> None:
        wrong = misfit(settings.name, settings.prompt, f"{type(self).__module__}:{type(self).__name__}")
        if wrong is not None:
            raise ValueError(wrong)
        self.settings = settings
        self.client = JudgeClient(settings)
        self.cache = cache
        self._questions = Questions[Read](settings, reminder, cache, encode, decode)

    @classmethod
    def for_reward(cls, settings: JudgeSettings, mix: RewardMix, cache: JudgeCache | None) -> Self:
        """The judge as a reward asks it; only a class that some reward asks has this."""
        raise NotImplementedError(f"no reward asks {cls.__name__}")

    def health(self) -> JudgeHealth:
        """The state of its servers and of its memory at this moment."""
        return JudgeHealth(len(self.client.base_urls), self.client.admitting, self._questions.in_memory)

    async def aclose(self) -> None:
        """Close its connections; it is of no use afterwards."""
        await self.client.aclose()
