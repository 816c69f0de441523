"""Execution of a page: its files are written, its Python and its commands run, in their order.

Output of a command stands below it. Each of these lines must occur in what the command prints, in
the same order; a number with a decimal point stands for any number, ``...`` for any text.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.docs.page_blocks import PageBlock, page_blocks

_SECONDS = 280
_NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?"
_TOKEN = re.compile(r"(\.\.\.)|((?<![\w.])[-+]?\d[\d,]*\.\d+(?:e[-+]?\d+)?)|(\s+)")


class PageError(AssertionError):
    """A block of a page does not do what the page shows."""


@dataclass(frozen=True, slots=True)
class ShownCommand:
    """A command of a block, the lines of output below it, and its line in the page."""

    command: str
    output: tuple[str, ...]
    line: int


def run_page(page: Path, folder: Path, *, nightly: bool = False) -> int:
    """Execute the blocks of a page in a folder; return how many.

    Raises:
        PageError: a block fails, or prints something else than the page shows.
    """
    count = 0
    for block in page_blocks(page.read_text(encoding="utf-8")):
        if block.title:
            _write(block, folder, page)
        if block.skip_reason is not None or (block.is_nightly and not nightly):
            continue
        if block.language == "python" and not block.title:
            _run_python(block, page)
            count += 1
        elif block.language == "console":
            for command in shown_commands(block, page):
                _run_command(command, folder, page)
            count += 1
    return count


def shown_commands(block: PageBlock, page: Path) -> Iterator[ShownCommand]:
    r"""Yield the commands of a block; ``\`` at the end of a line goes on in the next one."""
    command, output, start = "", list[str](), block.line
    is_open = False
    for number, line in enumerate(block.text.splitlines(), start=block.line):
        if is_open:
            command += "\n" + line
            is_open = line.endswith("\\")
        elif line.startswith("$ "):
            if command:
                yield ShownCommand(command, tuple(output), start)
            command, output, start = line[2:], [], number
            is_open = line.endswith("\\")
        elif command:
            output.append(line)
        elif line.strip():
            raise PageError(f"{page}:{number}: expected a command behind '$ ', found {line!r}")
    if command:
        yield ShownCommand(command, tuple(output), start)


def missing_line(expected: Iterable[str], printed: str) -> str | None:
    r"""Return the first expected line that is not printed, in their order; None without one.

    >>> missing_line(["best 1.50x", "..."], "found\nbest   2.25x of it\n") is None
    True
    >>> missing_line(["second", "first"], "first\nsecond\n")
    'first'
    """
    lines = iter([" ".join(line.split()) for line in printed.splitlines()])
    for line in expected:
        pattern = re.compile(_pattern(line))
        if line.strip() in ("", "..."):
            continue
        if not any(pattern.search(found) for found in lines):
            return line
    return None


def _pattern(line: str) -> str:
    parts, end = [], 0
    text = line.strip()
    for match in _TOKEN.finditer(text):
        parts.append(re.escape(text[end : match.start()]))
        parts.append(".*" if match[1] else _NUMBER if match[2] else r"\s")
        end = match.end()
    return "".join([*parts, re.escape(text[end:])])


def _write(block: PageBlock, folder: Path, page: Path) -> None:
    path = folder / block.title
    if not path.resolve().is_relative_to(folder.resolve()):
        raise PageError(f"{page}:{block.line}: expected a file in the folder, found {block.title}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text, encoding="utf-8")


def _run_python(block: PageBlock, page: Path) -> None:
    """Run a block in this process; its lines have the numbers that they have in the page."""
    source = "\n" * (block.line - 1) + block.text
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(source, str(page), "exec"), {"__name__": "__main__"})
    except Exception as error:
        raise PageError(
            f"{page}:{block.line}: expected a block that runs, found {error!r}"
        ) from error
    if "print(" in block.text and not printed.getvalue():
        raise PageError(f"{page}:{block.line}: expected something printed, found nothing")


def _run_command(shown: ShownCommand, folder: Path, page: Path) -> None:
    """Run a command by bash; it may fail where the page shows what it prints."""
    place = f"{page}:{shown.line}"
    try:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", shown.command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            cwd=folder,
            env=_environment(),
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise PageError(f"{place}: expected an end within {_SECONDS} s: {shown.command}") from None
    if (line := missing_line(shown.output, done.stdout)) is not None:
        raise PageError(
            f"{place}: {shown.command}\nexpected the line: {line}\nfound:\n{done.stdout}"
        )
    if done.returncode != 0 and (done.returncode != 1 or not any(shown.output)):
        is_shown = done.returncode == 2 and any("error" in line for line in shown.output)
        if not is_shown:
            raise PageError(
                f"{place}: {shown.command}\nexpected exit code 0, found {done.returncode}:\n"
                f"{done.stdout}"
            )


def _environment() -> dict[str, str]:
    """Return the environment of commands: ``polygym`` and ``python`` are those of the tests."""
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "NO_COLOR": "1",
        "COLUMNS": "200",
    }
