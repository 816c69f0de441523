"""What the commands of agents have in common: their help is the docstring of their module."""

from __future__ import annotations

import argparse


def parser_of(name: str, docstring: str | None) -> argparse.ArgumentParser:
    """Return the parser of ``python -m agents.NAME``: the first line above, the rest below."""
    head, _, rest = (docstring or "").partition("\n")
    return argparse.ArgumentParser(
        prog=f"python -m agents.{name}",
        description=head,
        epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
