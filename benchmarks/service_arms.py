"""Three ways to ask the judges of a rollout, for `benchmarks.reward_service`: ours, a session a call, one by one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import aiohttp
from omegaconf import OmegaConf

from foundation.runs.records import Labels, Unlabelled, Verdict
from foundation.settings.compose import compose_config
from reward_workers.judges.prompts.render import render
from reward_workers.judges.replies import ParsedLabels, parse_labels
from reward_workers.reward_manager import build_scorer
from reward_workers.scoring import RolloutScorer
from reward_workers.terms.pattern_term import PatternTerm
from reward_workers.terms.verifier_term import VerifierTerm


def scorer(
    roots: str | Mapping[str, str], *, concurrency: int, cache: Path | None = None, **reward_mix: Any
) -> RolloutScorer:
    """The scorer of a reward worker, from the quickstart's settings, at a local judge.

    Args:
        roots: address of the judge, or of each by its key.
        concurrency: of each judge.
        cache: folder of the judge cache; None switches it off.
        reward_mix: keys of that section that differ, `gate__probability` for a nested one.
    """
    overrides = [f"reward_mix.{key.replace('__', '.')}={json.dumps(value)}" for key, value in reward_mix.items()]
    for judge, model in (("fallback", "answer-judge"), ("pattern_rm", "pattern-rm")):
        root = roots if isinstance(roots, str) else roots[judge]
        overrides += [
            f"judges.{judge}.{setting}"
            for setting in ("serve=null", f"base_urls=[{root}/v1]", f"model={model}", f"concurrency={concurrency}")
        ]
    overrides += [f"judge_cache.enabled={str(cache is not None).lower()}", "run.dir=.", "run.name=benchmark"]
    if cache is not None:
        overrides.append(f"judge_cache.folder={cache}")
    config = compose_config(["experiment=quickstart", *overrides])
    plain = cast(dict[str, Any], OmegaConf.to_container(OmegaConf.masked_copy(config, _READ), resolve=True))
    return build_scorer(plain, worker=0)


_READ = ["seed", "run", "cluster", "reward_mix", "judges", "judge_cache", "reward"]


class SessionPerCall:
    """Judges asked as verl's examples ask them: a new HTTP session a call, no limit, no retry.

    verl 0.9.1 does so in experimental/reward_loop/reward_loop.py:164 and in `chat_complete` of its reward functions.
    """

    def __init__(self, root: str) -> None:
        self._url = f"{root}/v1/chat/completions"

    async def judge(self, question: str, reference: str, extracted: str) -> Verdict:
        messages = render(
            "answer_equivalence_compact", "en", question=question, reference=reference, extracted=extracted
        )
        text = await self._complete("answer-judge", messages)
        return Verdict(int(text.strip() == "CORRECT"), "judge", "judge", extracted)

    async def label(self, question: str, response: str) -> Labels | Unlabelled:
        parsed = parse_labels(
            await self._complete("pattern-rm", render("pattern_rm", question=question, response=response))
        )
        if not isinstance(parsed, ParsedLabels):
            return Unlabelled(parsed.reason)
        return Labels(parsed.decided)

    async def _complete(self, model: str, messages: list[dict[str, str]]) -> str:
        request: Mapping[str, Any] = {"model": model, "messages": messages, "temperature": 0.0, "max_tokens": 32}
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)) as session,
            session.post(self._url, json=request) as response,
        ):
            response.raise_for_status()
            body = await response.json()
        return str(body["choices"][0]["message"]["content"])


def session_per_call(ours: RolloutScorer, root: str) -> RolloutScorer:
    """The same scorer with judges that open a session a call."""
    judges = SessionPerCall(root)
    verifier, pattern = cast(VerifierTerm, ours.terms[0]), cast(PatternTerm, ours.terms[1])
    return replace(ours, terms=(replace(verifier, answer_judge=judges), replace(pattern, pattern_rm=judges)))
