"""Markdown of generated pages: headings, tables, code, and text in which nothing is markup."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_SPECIAL = re.compile(r"[\\*_\[\]{}<>#&|]")
_CODE = re.compile(r"(`+)(.+?)\1", re.DOTALL)


def code(text: str) -> str:
    """Return a text as inline code, which a table takes whatever is in it.

    >>> code("a + b"), code("on|off")
    ('`a + b`', '<code>on&#124;off</code>')
    """
    if not text:
        return ""
    if "|" in text or "`" in text:
        return f"<code>{''.join(map(_entity, text))}</code>"
    return f"`{text}`"


def plain(text: str) -> str:
    """Return a text in which only inline code between backquotes is markup.

    >>> plain("a <b> and `c|d`")
    'a &#60;b&#62; and <code>c&#124;d</code>'
    """
    parts, end = [], 0
    for match in _CODE.finditer(text):
        parts += [_escaped(text[end : match.start()]), code(match[2].strip())]
        end = match.end()
    return "".join([*parts, _escaped(text[end:])])


def sentence(text: str) -> str:
    """Return a text that begins with a capital letter, unless it begins with code or a name.

    >>> sentence("the order of the text"), sentence("x + y"), sentence("isl's order")
    ('The order of the text', 'x + y', "isl's order")
    """
    word = text.split(" ", 1)[0].rstrip(",;:").replace("-", "")
    is_word = word.isalpha() and word.islower() and word != "isl" and (len(word) > 1 or word == "a")
    return text[:1].upper() + text[1:] if is_word else text


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; cells are Markdown of one line.

    >>> print(table(("name", "doc"), [("a", "one")]), end="")
    | name | doc |
    |---|---|
    | a | one |
    """
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for row in rows:
        cells = [" ".join(cell.split()) for cell in row]
        assert len(cells) == len(header), f"expected {len(header)} cells, found {cells}"
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def fenced(text: str, language: str = "text") -> str:
    """Return a block of code."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", text))])
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


@dataclass(frozen=True, slots=True)
class PageOpening:
    """Start of a page: a summary of three lines, and blocks of code, which a test runs."""

    summary: tuple[str, str, str]
    example: str


def page(title: str, opening: PageOpening, *parts: str) -> str:
    """Return a page: its title, summary and example, and its parts with a line between them.

    >>> print(page("A", PageOpening(("b.", "c.", "d."), fenced("$ true", "console")), "e"), end="")
    # A
    <BLANKLINE>
    !!! abstract "In short"
        - b.
        - c.
        - d.
    <BLANKLINE>
    ```console
    $ true
    ```
    <BLANKLINE>
    e
    """
    summary = "\n".join(f"    - {line}" for line in opening.summary)
    return bare_page(title, f'!!! abstract "In short"\n{summary}', opening.example, *parts)


def bare_page(title: str, *parts: str) -> str:
    """Return a page without a summary, such as that of a module, which has its docstring."""
    return "\n\n".join([f"# {title}", *(part.strip("\n") for part in parts if part)]) + "\n"


def heading(level: int, text: str, anchor: str = "") -> str:
    """Return a heading, with an anchor of its own if there is one."""
    return f"{'#' * level} {text}" + (f" {{ #{anchor} }}" if anchor else "")


def bounds(low: float, high: float) -> str:
    """Return an interval that stays in one line, with narrow spaces.

    >>> bounds(0, 1_000_000).split(), bounds(-0.5, 1).split()
    (['0', '…', '1,000,000'], ['-0.5', '…', '1'])
    """
    return "\u202f…\u202f".join(
        f"{int(value):,}" if float(value).is_integer() else f"{value:g}" for value in (low, high)
    )


def slug(text: str) -> str:
    """Return the anchor of a text.

    >>> slug("graph optimize"), slug("polygym/Schedule-v0")
    ('graph-optimize', 'polygym-schedule-v0')
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _entity(character: str) -> str:
    return character if character.isalnum() or character == " " else f"&#{ord(character)};"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda match: _entity(match[0]), text)
