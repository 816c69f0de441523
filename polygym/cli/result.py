"""Result of a command: an exit code and, under ``--json``, one document.

Commands print for people as they go, but return their document: it is written in one place, once,
after everything that can fail or be interrupted (:mod:`polygym.cli.dispatch`).
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The exit code (see :mod:`polygym.cli.dispatch`) and the document, None for people."""

    code: int = 0
    document: Any = None
