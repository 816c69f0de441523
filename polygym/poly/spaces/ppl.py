"""The one place where the Parma Polyhedra Library is imported, and where its import is tamed.

pplpy brings cysignals, which on import replaces the handlers of SIGINT and of every signal that
means a crash, prints a long report when one of those arrives, and refuses to be imported outside
the main thread. A library has no business doing so to its user: here the handlers are as they were
before, at the level of C and of Python, and the import works in any thread. What is lost is that
Ctrl-C cannot interrupt the inside of a single call, which is why calls are kept short (see
:mod:`polygym.poly.spaces.generators`).
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import ModuleType
from typing import Any

from polygym.foreign.libc import SignalHandlers

_import_lock = threading.Lock()


def ppl_module() -> ModuleType:
    """Return the library, imported at first use."""
    with _import_lock:
        return _import()


@lru_cache(maxsize=1)
def _import() -> ModuleType:
    with _preserve_signal_handlers():
        import ppl
    return ppl  # type: ignore[no-any-return]


@contextmanager
def _preserve_signal_handlers() -> Iterator[None]:
    """Put back every signal handler that the body changes, and the stack that handlers run on.

    What other threads set meanwhile stays.
    """
    handlers = SignalHandlers()
    python_signal = signal.signal
    importing = threading.get_ident()

    def not_in_this_thread(signalnum: Any, handler: Any) -> Any:
        if threading.get_ident() == importing:
            return signal.getsignal(signalnum)
        handlers.exclude(signalnum)
        return python_signal(signalnum, handler)

    signal.signal = not_in_this_thread
    try:
        yield
    finally:
        signal.signal = python_signal
        handlers.restore()
