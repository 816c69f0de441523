"""``polygym cache``: the compiled comprehensions that are kept on the disk."""

import sys
from pathlib import Path
from typing import Any

import click

from polygym.autoschedule import storage_cache
from polygym.cli.options.common import json_option
from polygym.cli.options.values import file_argument
from polygym.cli.output.console import (
    CommandResult,
    answer,
    attributes,
    format_seconds,
    print_table,
    write_text,
)
from polygym.errors import InputError
from polygym.files import write_atomically
from polygym.tc.cache import CacheEntry, KernelCache, entries_from_text, text_of_entries, user_cache

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
def list_entries(as_json: bool) -> CommandResult:
    """Show what is there."""
    cache = _cache()
    entries = cache.entries()
    if as_json:
        return answer(True, {"file": str(cache.path), "entries": [_as_json(e) for e in entries]})
    if entries:
        rows = [
            (e.label, e.mapping, format_seconds(e.seconds), f"{len(e.code) / 1024:.1f}")
            for e in entries
        ]
        print_table(("COMPREHENSION", "MAPPING", "TIME", "KB"), rows, "llrr")
    write_text(f"{len(entries)} in {cache.path}")
    return CommandResult()


@command.command("export")
@file_argument("file", "FILE")
@json_option
def export(file: Path, as_json: bool) -> CommandResult:
    """Write everything to FILE, or to standard output if that is -."""
    if as_json and file == _STANDARD:
        raise click.UsageError("--json has an answer of its own: expected the name of a FILE.")
    entries = _cache().entries()
    if file == _STANDARD:
        click.echo(text_of_entries(entries), nl=False)
        return CommandResult()
    write_atomically(file, text_of_entries(entries).encode())
    document = {"entries": len(entries), "file": str(file)}
    return answer(as_json, document, lambda: write_text(f"{len(entries)} written to {file}"))


@command.command("import")
@file_argument("file", "FILE")
@json_option
def import_entries(file: Path, as_json: bool) -> CommandResult:
    """Add what FILE has, or standard input if that is -.

    Run only what you trust: it is machine code.
    """
    try:
        is_file = file != _STANDARD
        text = (file.read_bytes() if is_file else sys.stdin.buffer.read()).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: cannot be read: {error}") from None
    cache, entries = _cache(), entries_from_text(text, str(file))
    kept = sum(cache.put(cache_entry) for cache_entry in entries)
    if kept < len(entries):
        raise InputError(f"{cache.path}: {len(entries) - kept} of {len(entries)} could not be kept")
    return answer(as_json, {"entries": kept}, lambda: write_text(f"{kept} added"))


@command.command("clear")
@json_option
def clear(as_json: bool) -> CommandResult:
    """Forget everything: also where programs keep their values."""
    count = _cache().clear()
    rankings = storage_cache.clear_rankings()
    said = f"{count} forgotten, and the storage rankings of {rankings} programs"
    return answer(
        as_json, {"entries": count, "storage_rankings": rankings}, lambda: write_text(said)
    )


def _cache() -> KernelCache:
    cache = user_cache()
    if cache is None:
        raise InputError("the cache is switched off: POLYGYM_CACHE=off")
    return cache


def _as_json(entry: CacheEntry) -> dict[str, Any]:
    document = attributes(entry, "key", "label", "schedule", "mapping", "seconds")
    return {**document, "bytes": len(entry.code), "made": entry.created}
