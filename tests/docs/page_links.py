"""Links of pages: the files exist, or are generated, and have the anchors that are named."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from markdown.extensions.toc import slugify, unique

from tests.docs.page_blocks import without_blocks

_LINK = re.compile(r"\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(([^()\s]+)\)")
_CODE_WITHOUT_LINK = re.compile(r"(?<!\[)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)")
_HEADING = re.compile(
    r"^#{1,6} +(?P<title>.*?)(?: +\{[^}]*#(?P<id>[\w-]+)[^}]*\})? *#*$", re.MULTILINE
)
_SHOWN = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_ANCHOR = re.compile(r"(?:id|name)=\"([^\"]+)\"")


def link_faults(page: Path, root: Path, generated: Collection[str] = ()) -> Iterator[str]:
    """Yield links to files or anchors that do not exist.

    ``generated`` are paths of generated pages below the root; the site checks their anchors.
    """
    folder = posixpath.dirname(page.relative_to(root).as_posix())
    for link in _links(page.read_text(encoding="utf-8")):
        target, _, anchor = link.partition("#")
        path = posixpath.normpath(posixpath.join(folder, target)) if target else ""
        if path in generated:
            continue
        file = root / path if path else page
        if not file.exists():
            yield f"expected a file, found the link {link}"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            yield f"expected an anchor of {path or page.name}, found the link {link}"


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of a page: those of its headings, and ids that it gives."""
    text = without_blocks(page.read_text(encoding="utf-8"))
    found: set[str] = set(_ANCHOR.findall(text))
    for match in _HEADING.finditer(text):
        title = _SHOWN.sub(r"\1", match["title"]).replace("`", "")
        found.add(match["id"] or unique(slugify(title, "-"), found))
    return frozenset(found)


def _links(text: str) -> Iterator[str]:
    """Yield the relative links of a page."""
    prose = _CODE_WITHOUT_LINK.sub("code", without_blocks(text))
    for link in dict.fromkeys(_LINK.findall(prose)):
        if "://" not in link and not link.startswith("mailto:"):
            yield link
