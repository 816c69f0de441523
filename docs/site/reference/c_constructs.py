"""Reference page of C constructs: accepted and refused ones, by groups, each with an example."""

import textwrap

from docs.site.c_constructs import Construct, ConstructStatus, read_constructs
from docs.site.markdown import PageOpening, fenced, heading, page, plain

_BOXES = {ConstructStatus.ACCEPTED: "success", ConstructStatus.REFUSED: "failure"}

_OPENING = PageOpening(
    (
        "The front end accepts ✓ or refuses ✗ these constructs; each opens to an example.",
        "A refused construct also shows its message. A test reads every example.",
        "Two arguments are assumed to be different arrays.",
    ),
    """\
```c title="scale.c"
void scale(int n, double a[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    a[i] = 2 * a[i];
#pragma endscop
}
```

```console
$ polygym check scale.c --schedule '{ S0[i] -> [-i] }'
legal
```
""",
)


def c_constructs_page() -> str:
    """Return the page."""
    parts: list[str] = []
    constructs = read_constructs()
    for group in dict.fromkeys(construct.group for construct in constructs):
        rows = [construct for construct in constructs if construct.group == group]
        parts += [heading(2, group), *map(_box, rows)]
    accepted = sum(one.status is ConstructStatus.ACCEPTED for one in constructs)
    counts = f"{accepted} constructs are accepted, {len(constructs) - accepted} are refused."
    return page("C constructs", _OPENING, counts, *parts)


def _box(construct: Construct) -> str:
    """Return a box that opens to the example and the message."""
    language = "cpp" if construct.file.endswith(".cpp") else "c"
    parts = [fenced(construct.example, language)]
    if construct.message:
        parts.append(fenced(construct.message))
    inside = textwrap.indent("\n\n".join(part.strip() for part in parts), "    ")
    comment = f" <small>{plain(construct.comment)}</small>" if construct.comment else ""
    assert '"' not in comment, f"{construct.name}: expected a comment without quotation marks"
    return f'??? {_BOXES[construct.status]} "{construct.name}{comment}"\n\n{inside}\n'
