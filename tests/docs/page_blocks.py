"""Code blocks of a page of Markdown: language, title, text, and what stands before them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"(?P<indent> *)(?P<ticks>`{3,}|~{3,}) *(?P<language>[\w+-]*)(?P<rest>.*)")
_TITLE = re.compile(r"title=\"([^\"]+)\"")
_MARK = re.compile(r"<!-- *(?P<kind>not run|nightly)(?:: *(?P<reason>.*?))? *-->")


@dataclass(frozen=True, slots=True)
class PageBlock:
    """A code block: ``line`` is that of its first line of code, from 1.

    ``title`` names the file that it is written to. A block that is not run has a
    ``skip_reason``, "" where the page gives none; None stands for a block that is run.
    """

    language: str
    text: str
    line: int
    title: str = ""
    skip_reason: str | None = None
    is_nightly: bool = False


def page_blocks(text: str) -> Iterator[PageBlock]:
    r"""Yield the blocks of a page in their order.

    >>> [block.language for block in page_blocks("```python\nx = 1\n```\n")]
    ['python']
    """
    lines = text.split("\n")
    place, before = 0, ""
    while place < len(lines):
        match = _FENCE.fullmatch(lines[place])
        if match is None:
            before = lines[place].strip() or before
            place += 1
            continue
        start = place + 1
        end = _end_of_block(lines, start, match["ticks"])
        mark = _MARK.fullmatch(before)
        is_skipped = mark is not None and mark["kind"] == "not run"
        title = _TITLE.search(match["rest"])
        yield PageBlock(
            match["language"],
            textwrap.dedent("\n".join(lines[start:end]) + "\n"),
            start + 1,
            "" if title is None else title[1],
            (mark["reason"] or "") if mark is not None and is_skipped else None,
            mark is not None and mark["kind"] == "nightly",
        )
        place, before = end + 1, ""


def without_blocks(text: str) -> str:
    """Return a page with its code blocks replaced by empty lines."""
    lines = text.split("\n")
    for block in page_blocks(text):
        for number in range(block.line - 2, block.line + block.text.count("\n")):
            if number < len(lines):
                lines[number] = ""
    return "\n".join(lines)


def _end_of_block(lines: list[str], start: int, ticks: str) -> int:
    """Return the place of the line that ends a block."""
    end = start
    while end < len(lines) and lines[end].strip() != ticks:
        end += 1
    return end
