"""Pages from files outside of ``docs/``: the changelog, how to contribute, and what they link.

Their links are rewritten: to pages of the site, to pictures, or to the name of a file that is not
part of the site. Links of pages below ``docs/`` to files outside are rewritten in the same way.
The name of a document in prose, as help texts have it, becomes a link.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_ROOTS: Mapping[str, str] = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
_START = "README.md"  # its links lead to further pages; the site has a home page of its own
_FOLDER = "repository"
_LINK_OR_CODE = re.compile(
    r"^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)"
    r"|(?P<picture>!?)\[(?P<shown>(?:[^\[\]]|\[[^\[\]]*\])*)\]\((?P<link>[^()\s]+)\)"
    r"|(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)"
    r"|\]\["
    r"|(?<![\w/])docs/[\w/-]+\.md",
    re.DOTALL | re.MULTILINE,
)
_PICTURES = (".png", ".svg", ".gif")


@dataclass(frozen=True, slots=True)
class RootPage:
    """A page from a file: its path below the root, and its address in the site."""

    path: str
    src_uri: str

    @property
    def is_linked_only(self) -> bool:
        """Whether it has no entry in the navigation."""
        return self.path not in _ROOTS


def root_pages(root: Path = ROOT) -> dict[str, RootPage]:
    """Return the pages by their paths: what README, changelog and guidelines link, and so on."""
    pages = {path: RootPage(path, uri) for path, uri in _ROOTS.items() if (root / path).is_file()}
    waiting = [_START, *pages]
    while waiting:
        path = waiting.pop()
        for target in _linked_files(root, path):
            if target.endswith(".md") and not _is_in_docs(target) and target != _START:
                if target not in pages:
                    pages[target] = RootPage(target, f"{_FOLDER}/{target}")
                    waiting.append(target)
    return pages


def root_pictures(pages: Mapping[str, RootPage], root: Path = ROOT) -> dict[str, str]:
    """Return the pictures outside of ``docs/`` that pages show: addresses by paths."""
    return {
        target: f"{_FOLDER}/{target}"
        for page in pages.values()
        for target in _linked_files(root, page.path)
        if target.endswith(_PICTURES) and not _is_in_docs(target)
    }


def with_site_links(text: str, path: str, uri: str, addresses: Mapping[str, str]) -> str:
    """Return the text of a file with the links that it has in the site.

    ``path`` is the file below the root, ``uri`` its own address; ``addresses`` are those of files.

    >>> with_site_links("[x](docs/a.md#b), [c](c.py), A[i][j]", "R.md", "r/R.md", {})
    '[x](../a.md#b), c (`c.py`), A[i]&#91;j]'
    >>> with_site_links("see docs/a.md", "docs/b/c.md", "b/c.md", {})
    'see [docs/a.md](../a.md)'
    """

    def replacement(match: re.Match[str]) -> str:
        if match[0] == "][":  # no reference of Markdown, but a subscript
            return "]&#91;"
        if match[0].startswith("docs/"):
            named = match[0].removeprefix("docs/")
            return f"[{match[0]}]({posixpath.relpath(named, posixpath.dirname(uri) or '.')})"
        if (link := match["link"]) is None or _is_elsewhere(link):
            return match[0]
        target, hash_mark, anchor = link.partition("#")
        resolved = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        if (address := _address(resolved, addresses)) is None:
            shown = match["shown"]
            is_name = shown.strip("`/") == resolved.strip("/") or shown.strip("`/") == target
            return shown if is_name else f"{shown} (`{resolved}`)"
        relative = posixpath.relpath(address, posixpath.dirname(uri) or ".")
        return f"{match['picture']}[{match['shown']}]({relative}{hash_mark}{anchor})"

    return _LINK_OR_CODE.sub(replacement, text)


def _address(path: str, addresses: Mapping[str, str]) -> str | None:
    return path.removeprefix("docs/") if _is_in_docs(path) else addresses.get(path)


def _is_elsewhere(link: str) -> bool:
    """Whether a link leads to another site, or to a place in the same page."""
    return "://" in link or link.startswith(("mailto:", "#"))


def _linked_files(root: Path, path: str) -> Iterator[str]:
    """Yield the files that a file links, by their paths below the root."""
    for match in _LINK_OR_CODE.finditer((root / path).read_text(encoding="utf-8")):
        link = match["link"]
        if link is not None and not _is_elsewhere(link):
            target = link.partition("#")[0]
            resolved = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
            if (root / resolved).is_file():
                yield resolved


def _is_in_docs(path: str) -> bool:
    return path.startswith("docs/")
