"""Result of a command: an exit code and, under ``--json``, one document.

Commands print for people as they go, but return their document: it is written in one place, once,
after everything that can fail or be interrupted (:mod:`polygym.cli.dispatch`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from polygym.cli.output.console import write_verdict


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The exit code (see :mod:`polygym.cli.dispatch`) and the document, None for people."""

    code: int = 0
    document: Any = None


def changed(message: str, as_json: bool) -> CommandResult:
    """Return that a record does not lead to what it led to before, or say it."""
    document = {"agrees": False, "error": message}
    return answer(as_json, document, lambda: write_verdict("changed", f": {message}", err=True), 1)


def answer(
    as_json: bool, document: Any, show: Callable[[], object] | None = None, code: int = 0
) -> CommandResult:
    """Return a document, or show for people what it says."""
    if as_json:
        return CommandResult(code, document)
    if show is not None:
        show()
    return CommandResult(code)
