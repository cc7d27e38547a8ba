"""The verl release whose inner parts this folder extends, and the refusal of any other."""

from __future__ import annotations

VERL_VERSION = "0.9.1"


def require_verl(version: str, what: str) -> None:
    """Refuse a verl release that `what` was not written for.

    Args:
        version: ``verl.__version__``.
        what: the extension, for the message.

    Raises:
        RuntimeError: another version.
    """
    if version != VERL_VERSION:
        raise RuntimeError(
            f"{what} was written for verl {VERL_VERSION}, and verl {version} is installed: install "
            f"verl=={VERL_VERSION}, or check the upstream lines that the module names and run tests/rollout before "
            f"raising the version"
        )
