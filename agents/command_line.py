"""Common parts of the agents' commands: help from a docstring, and exit codes."""

import argparse
import sys
from collections.abc import Callable

from polygym.errors import PolygymError


def parser_of(name: str, docstring: str | None) -> argparse.ArgumentParser:
    """Return the parser of ``python -m agents.NAME``: the first line above, the rest below."""
    head, _, rest = (docstring or "").partition("\n")
    return argparse.ArgumentParser(
        prog=f"python -m agents.{name}",
        description=head,
        epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def exit_code(work: Callable[[], int | None], interrupted: str) -> int:
    """Work; return its number or 0, 1 after Ctrl-C, 2 for what cannot be done.

    ``interrupted`` is what is said after Ctrl-C. What cannot be done may be that a disk is full, or
    that a file or a folder is not where it should be.
    """
    try:
        return work() or 0
    except PolygymError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"error: {_error_text(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(interrupted, file=sys.stderr)
        return 1


def _error_text(error: OSError) -> str:
    if error.filename is None:
        return str(error)
    return f"{error.filename}: expected to read or write there, found: {error.strerror}"
