"""Ctrl-C and SIGTERM in a long command: it stops at once, but never in the middle of something.

Unlike :mod:`polygym.cli.interrupts`, which ends the process where it stands, a search has something
to say at its end. But an exception must not come while the integer set library is at work or a file
is being written. So inside of :func:`stoppable` a signal is remembered, and becomes a
KeyboardInterrupt where the command waits for others (:meth:`StopRequest.allowed`), which is nearly
always, or else when it does so next.

Signal masks would not do: they belong to a thread, and libraries start some of their own.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_FIRST_CODE = 128  # as shells report a signal


@dataclass(slots=True)
class StopRequest:
    """Whether and by which signal the command has been asked to stop."""

    signal_number: int = 0
    is_allowed: bool = False

    @property
    def is_requested(self) -> bool:
        """Whether a signal has come."""
        return bool(self.signal_number)

    @property
    def code(self) -> int:
        """The exit code of a command that was stopped."""
        return _FIRST_CODE + self.signal_number

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Inside, a signal is a KeyboardInterrupt; one that came before is one now."""
        self.is_allowed = True
        try:
            if self.signal_number:
                raise KeyboardInterrupt
            yield
        finally:
            self.is_allowed = False

    def handle(self, number: int, _: FrameType | None) -> None:
        """Handle a signal."""
        self.signal_number = number
        if self.is_allowed:
            raise KeyboardInterrupt


@contextmanager
def stoppable(stop: StopRequest) -> Iterator[None]:
    """Inside, both signals stop the command where it allows it, at the latest at the end."""
    before = {number: signal.signal(number, stop.handle) for number in _SIGNALS}
    try:
        yield
        with stop.allowed():
            pass
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
