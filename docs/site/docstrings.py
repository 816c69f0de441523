"""Docstrings as Markdown: Sphinx roles, literal blocks, doctests and simple tables are converted.

Headings, lists, tables and inline code of Markdown stay as they are, and so do the sections of
Google style, which the API pages parse.
"""

import re
import textwrap
from collections.abc import Iterator, Sequence

from docs.site import markdown

_ROLE = re.compile(r":(?:mod|class|func|meth|data|attr|exc):`(~?)([^`]+)`")
_RULE = re.compile(r"\s*=+( +=+)+\s*")
_LITERAL = re.compile(r"``(.+?)``", re.DOTALL)
_REFERENCE = re.compile(r"\](?=\[)")
_LANGUAGES = (("python", ">>> "), ("console", "$ "), ("console", "polygym "))


def as_markdown(docstring: str) -> str:
    r"""Return a docstring as Markdown.

    >>> print(as_markdown("See :class:`~polygym.x.Place` of ``f``:: "))
    See <autoref identifier="polygym.x.Place" optional><code>Place</code></autoref> of `f`::
    >>> print(as_markdown("An example::\n\n    a = 1\n\nThe end."))
    An example:
    <BLANKLINE>
    ```text
    a = 1
    ```
    <BLANKLINE>
    The end.
    """
    text = "\n".join(_lines(docstring.rstrip().splitlines()))
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n")


def summary(docstring: str) -> str:
    r"""Return the first sentence of a docstring, in one line of Markdown.

    >>> summary("Searches for\nthe least cost. More.")
    'Searches for the least cost.'
    """
    first = " ".join(docstring.strip().split("\n\n")[0].split())
    return inline(re.split(r"(?<=[.!?])\s", first, maxsplit=1)[0])


def inline(text: str) -> str:
    r"""Return a part of a docstring without blocks: roles and literals are converted.

    Brackets behind brackets are no reference of Markdown.

    >>> inline("``x`` is A[i][j]")
    '`x` is A[i]&#91;j]'
    """
    text = _LITERAL.sub(lambda match: f"`{' '.join(match[1].split())}`", text)
    text = _ROLE.sub(_reference, text)
    parts = re.split(r"(`[^`]*`)", text)
    shown = [part if part.startswith("`") else _unlinked(part) for part in parts]
    return "".join(shown)


def _unlinked(text: str) -> str:
    return _REFERENCE.sub("]\0", text).replace("\0[", "&#91;")


def _reference(match: re.Match[str]) -> str:
    """Return a reference that is text where the API pages lack the name."""
    name = match[2].strip()
    shown = name.rpartition(".")[2] if match[1] else name
    if "." not in name:
        return f"`{shown}`"
    return f'<autoref identifier="{name}" optional><code>{shown}</code></autoref>'


def _lines(lines: Sequence[str]) -> Iterator[str]:
    text: list[str] = []
    place = 0
    while place < len(lines):
        line = lines[place]
        start = place
        if _RULE.fullmatch(line) and (end := _table_end(lines, place)):
            yield from _joined(text)
            yield from _table(lines[place:end])
            place = end
        elif line.lstrip().startswith(">>> ") and not (text and text[-1].strip()):
            yield from _joined(text)
            place = _paragraph_end(lines, place)
            yield from _block(lines[start:place], "python", _lead(lines, start))
        elif line.rstrip().endswith("::") and (end := _literal_end(lines, place)):
            if shown := line.rstrip()[:-1] if line.strip() != "::" else "":
                text.append(shown.rstrip(":") + ":")
            yield from _joined(text)
            yield from _block(lines[place + 1 : end], "", _indent(line))
            place = end
        else:
            text.append(line)
            place += 1
    yield from _joined(text)


def _joined(text: list[str]) -> Iterator[str]:
    """Yield lines of text, converted together, since roles go on in the next line."""
    if text:
        yield from inline("\n".join(text)).splitlines() or [""]
        text.clear()


def _block(lines: Sequence[str], language: str, indent: int) -> Iterator[str]:
    """Yield a block of code with the indentation of what is around it."""
    shown = textwrap.dedent("\n".join(lines)).strip("\n")
    block = f"```{language or _language(shown)}\n{shown}\n```"
    yield from ("", *textwrap.indent(block, " " * indent).splitlines(), "")


def _lead(lines: Sequence[str], place: int) -> int:
    """Return the indentation of the text around a doctest; its own in a section of examples."""
    own = _indent(lines[place])
    for line in reversed(lines[:place]):
        if line.strip() and _indent(line) < own:
            return own if line.strip() == "Examples:" else _indent(line)
    return own


def _language(text: str) -> str:
    return next((name for name, start in _LANGUAGES if text.lstrip().startswith(start)), "text")


def _literal_end(lines: Sequence[str], place: int) -> int:
    """Return the end of the indented block behind a line; 0 without one."""
    indent = _indent(lines[place])
    end = place + 1
    while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > indent):
        end += 1
    while end > place + 1 and not lines[end - 1].strip():
        end -= 1
    return end if end > place + 1 else 0


def _paragraph_end(lines: Sequence[str], place: int) -> int:
    while place < len(lines) and lines[place].strip():
        place += 1
    return place


def _table_end(lines: Sequence[str], place: int) -> int:
    """Return the end of a simple table, behind its last rule; 0 without one."""
    rules = [
        number
        for number in range(place, _paragraph_end(lines, place))
        if _RULE.fullmatch(lines[number])
    ]
    return rules[-1] + 1 if len(rules) in (2, 3) else 0


def _table(lines: Sequence[str]) -> Iterator[str]:
    """Yield a simple table of reStructuredText as one of Markdown."""
    spans = [match.span() for match in re.finditer("=+", lines[0])]
    ends = [start for start, _ in spans[1:]] + [max(map(len, lines)) + 1]
    rules = [number for number, line in enumerate(lines) if _RULE.fullmatch(line)]
    head = lines[1 : rules[1]] if len(rules) == 3 else []
    rows: list[list[str]] = []
    for line in lines[rules[-2] + 1 : rules[-1]]:
        cells = [line[start:end].strip() for (start, _), end in zip(spans, ends, strict=True)]
        if rows and not cells[0]:  # the row goes on
            rows[-1] = [" ".join(pair).strip() for pair in zip(rows[-1], cells, strict=True)]
        else:
            rows.append(cells)
    names = [
        " ".join(line[start:end].strip() for line in head).strip()
        for (start, _), end in zip(spans, ends, strict=True)
    ]
    lead = " " * spans[0][0]
    shown = [[inline(cell).replace("|", "&#124;") for cell in row] for row in rows]
    yield ""
    yield from (lead + line for line in markdown.table(names, shown).splitlines())
    yield ""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
