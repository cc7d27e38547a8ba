"""A seed for each prompt, so that a prompt gets the same sampling noise in both modes and in every evaluation.

With one seed for all requests vLLM draws the same noise at the same position of every answer.
"""

from __future__ import annotations

from hashlib import blake2b


def prompt_seed(seed: int, prompt_id: str) -> int:
    """Sampling seed of a prompt, in 0..2^31-1, drawn from the seed of the whole evaluation.

    >>> prompt_seed(0, "a") == prompt_seed(0, "a"), prompt_seed(0, "a") == prompt_seed(0, "b")
    (True, False)
    """
    return int.from_bytes(blake2b(f"{seed}:{prompt_id}".encode(), digest_size=4).digest(), "big") >> 1
