"""Form of pages: title, summary, an early example, short sentences, no phrases of another style."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.docs.page_blocks import page_blocks, without_blocks

SUMMARY = '!!! abstract "In short"'
MOST_SUMMARY_WORDS = 25
EXAMPLE_BEFORE = 40
LONG_SENTENCE = 30

FORBIDDEN = (
    "that there is", "to be had", "by itself", "elsewhere", "without a word", "whoever",
    "in turn of", "nobody's", "for ever", "dice", "nine in ten",
)  # fmt: skip

_PHRASE = re.compile(rf"\b(?:{'|'.join(map(re.escape, FORBIDDEN))})\b", re.IGNORECASE)
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
_LEFT_OUT = re.compile(r"^\s*(?:\||#|!!!|\?\?\?|<!--|!\[|\[\^|:::)")
_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\([^()\s]+\)")
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")


def form_faults(text: str) -> Iterator[str]:
    """Yield what a page lacks: its title, three lines of summary, an example."""
    lines = text.split("\n")
    if not re.fullmatch(r"# \S.*", lines[0]):
        yield f"line 1: expected a title, '# …', found {lines[0]!r}"
    yield from _summary_faults(lines)
    blocks = list(page_blocks(text))
    if not any(block.line - 1 < EXAMPLE_BEFORE for block in blocks):
        yield f"expected a code block before line {EXAMPLE_BEFORE}, found none"
    yield from mark_faults(text)


def mark_faults(text: str) -> Iterator[str]:
    """Yield blocks that are not run without a reason, and those whose language is not given."""
    for block in page_blocks(text):
        if block.skip_reason == "":
            yield f"line {block.line}: expected a reason, '<!-- not run: REASON -->', found none"
        if not block.language:
            yield f"line {block.line}: expected the language of the block, found none"


def sentences(text: str) -> Iterator[str]:
    r"""Yield the sentences of the prose of a page; code and links are single words.

    >>> list(sentences("# Title\n\nOne `a b` [two](x.md). Three!\n\n- four\n- five"))
    ['One code two.', 'Three!', 'four', 'five']
    """
    for paragraph in _paragraphs(without_blocks(text)):
        prose = _LINK.sub(r"\1", _CODE.sub("code", paragraph))
        for sentence in re.split(r"(?<=[.!?])\s+", " ".join(prose.split())):
            if sentence:
                yield sentence


def long_sentences(text: str) -> list[str]:
    """Return the sentences with too many words."""
    return [one for one in sentences(text) if len(one.split()) > LONG_SENTENCE]


def forbidden_phrases(text: str) -> list[str]:
    """Return the phrases of a page that are not used here, with their lines.

    >>> forbidden_phrases("It runs by itself.")
    ['line 1: by itself']
    """
    prose = "\n".join(_CODE.sub("", line) for line in without_blocks(text).split("\n"))
    return [
        f"line {prose.count(chr(10), 0, match.start()) + 1}: {match[0]}"
        for match in _PHRASE.finditer(prose)
    ]


def word_count(path: Path) -> int:
    """Return how many words a page has, with those of its code."""
    return len(path.read_text(encoding="utf-8").split())


def _summary_faults(lines: list[str]) -> Iterator[str]:
    rest = [line for line in lines[1:] if line.strip()]
    if not rest or rest[0] != SUMMARY:
        yield f"expected {SUMMARY} below the title, found {rest[0] if rest else 'the end'!r}"
        return
    bullets = []
    for line in rest[1:]:
        if not line.startswith("    "):
            break
        bullets.append(line)
    if len(bullets) != 3:
        yield f"expected a summary of three lines, found {len(bullets)}"
    for bullet in bullets:
        if not bullet.startswith("    - "):
            yield f"expected a summary line '    - …', found {bullet!r}"
        words = _LINK.sub(r"\1", _CODE.sub("code", bullet)).split()[1:]
        if len(words) > MOST_SUMMARY_WORDS:
            limit = f"expected at most {MOST_SUMMARY_WORDS} words"
            yield f"{limit}, found {len(words)}: {bullet.strip()}"


def _paragraphs(text: str) -> Iterator[str]:
    """Yield paragraphs and items of lists; headings, tables, pictures and marks are left out."""
    paragraph: list[str] = []
    for line in text.split("\n"):
        is_item, is_left_out = _ITEM.match(line), _LEFT_OUT.match(line)
        if not line.strip() or is_item or is_left_out:
            if paragraph:
                yield " ".join(paragraph)
            paragraph = []
        if line.strip() and not is_left_out:
            paragraph.append(_ITEM.sub("", line))
    if paragraph:
        yield " ".join(paragraph)
