# SPDX-License-Identifier: MIT
"""Where the library's messages go."""

from __future__ import annotations

import atexit
import logging
from collections.abc import Callable

from clpool import _clpool


def set_log(
    receiver: logging.Logger | Callable[[int, str], object] | None, level: int = logging.INFO
) -> None:
    """Sends the library's messages to a logger, or to a function of a level and a text, None for
    nowhere, as at the beginning. Levels are logging's: INFO, WARNING and ERROR; messages below
    ``level`` are left out. The receiver runs on the thread that caused the message, and what it
    raises is printed, as what is raised in a ``__del__`` is."""
    receive = receiver.log if isinstance(receiver, logging.Logger) else receiver
    if receive is not None and not callable(receive):
        raise TypeError(
            f"receiver must be a logging.Logger, a function or None, not {type(receiver).__name__}"
        )
    if isinstance(level, bool) or not isinstance(level, int):
        raise TypeError(f"level must be an int, such as logging.WARNING, not {level!r}")
    if receive is None:
        _clpool.set_log(None)
        return

    def show(kind: int, message: str) -> None:
        if kind >= level:
            receive(kind, message)

    _clpool.set_log(show)


atexit.register(_clpool.set_log, None)
