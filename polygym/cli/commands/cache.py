"""``polygym cache``: the compiled comprehensions that are kept on the disk."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from polygym.cli.answer import Answer
from polygym.cli.options import json_option
from polygym.cli.output import say, seconds
from polygym.cli.tables import print_table
from polygym.compiler.codegen.common.former_words import in_current_words
from polygym.episodes import kept_homes
from polygym.errors import InputError
from polygym.files import write_atomically
from polygym.tc.cache import Cache, Entry, exported, imported, user_cache

_HELP = """List, move or forget compiled comprehensions.

Operators that `polygym.tc.define` returns keep what they compile, so that later processes start
from machine code: in $POLYGYM_CACHE, or `polygym` in your cache folder. POLYGYM_CACHE=off keeps
nothing. What `run`, `bench`, `optimize` and `tune` decided about where a program keeps its values
is remembered there, too; `clear` forgets it.

\b
Examples:
  polygym cache list
  polygym cache export kernels.jsonl
  polygym cache import kernels.jsonl     on another machine of the same kind
  polygym cache export - | ssh other polygym cache import -
  polygym cache clear
"""


_STANDARD = Path("-")


@click.group("cache", help=_HELP)
def command() -> None:
    """Hold the four commands."""


@command.command("list")
@json_option
def list_entries(as_json: bool) -> Answer:
    """Show what is there."""
    cache = _cache()
    entries = cache.entries()
    if as_json:
        return Answer(document={"file": str(cache.path), "entries": [_as_json(e) for e in entries]})
    if entries:
        rows = [
            (
                one.label,
                in_current_words(one.mapping),
                "-" if one.seconds is None else seconds(one.seconds),
                f"{len(one.code) / 1024:.1f}",
            )
            for one in entries
        ]
        print_table(("COMPREHENSION", "MAPPING", "TIME", "KB"), rows, "llrr")
    say(f"{len(entries)} in {cache.path}")
    return Answer()


@command.command("export")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@json_option
def export(file: Path, as_json: bool) -> Answer:
    """Write everything to FILE, or to standard output if that is -."""
    if as_json and file == _STANDARD:
        raise click.UsageError("--json has an answer of its own: expected the name of a FILE.")
    entries = _cache().entries()
    if file == _STANDARD:
        click.echo(exported(entries), nl=False)
        return Answer()
    write_atomically(file, exported(entries).encode())
    if not as_json:
        say(f"{len(entries)} written to {file}")
    return Answer(document={"entries": len(entries), "file": str(file)} if as_json else None)


@command.command("import")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@json_option
def import_entries(file: Path, as_json: bool) -> Answer:
    """Add what FILE has, or standard input if that is -.

    Run only what you trust: it is machine code.
    """
    try:
        is_file = file != _STANDARD
        text = (file.read_bytes() if is_file else sys.stdin.buffer.read()).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: cannot be read: {error}") from None
    cache, entries = _cache(), imported(text, str(file))
    kept = sum(cache.put(one) for one in entries)
    if kept < len(entries):
        raise InputError(f"{cache.path}: {len(entries) - kept} of {len(entries)} could not be kept")
    if not as_json:
        say(f"{kept} added")
    return Answer(document={"entries": kept} if as_json else None)


@command.command("clear")
@json_option
def clear(as_json: bool) -> Answer:
    """Forget everything: also where programs keep their values."""
    count = _cache().clear()
    homes = kept_homes.forget()
    if not as_json:
        say(f"{count} forgotten, and where {homes} programs keep their values")
    return Answer(document={"entries": count, "homes": homes} if as_json else None)


def _cache() -> Cache:
    found = user_cache()
    if found is None:
        raise InputError("the cache is switched off: POLYGYM_CACHE=off")
    return found


def _as_json(one: Entry) -> dict[str, Any]:
    return {
        "key": one.key,
        "label": one.label,
        "schedule": one.schedule,
        "mapping": in_current_words(one.mapping),
        "seconds": one.seconds,
        "bytes": len(one.code),
        "made": one.made,
    }
