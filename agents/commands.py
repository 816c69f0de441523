"""What commands of agents have in common: help from a docstring, and how they end."""

from __future__ import annotations

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


def exit_code(work: Callable[[], None], interrupted: str) -> int:
    """Work; return 0, 1 after Ctrl-C, which ``interrupted`` says, or 2 for what cannot be done."""
    try:
        work()
    except PolygymError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(interrupted, file=sys.stderr)
        return 1
    return 0
