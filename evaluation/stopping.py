"""Stopping a command: Ctrl-C and SIGTERM end it in the same way, also one that a shell started in the background."""

from __future__ import annotations

import signal


def stop_on_signals() -> None:
    """From now on SIGINT and SIGTERM raise KeyboardInterrupt, inside an event loop by way of `asyncio.run`.

    A non-interactive shell starts background commands with SIGINT ignored, so that its handler is set here as well.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
