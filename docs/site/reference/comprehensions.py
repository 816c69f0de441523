"""Reference page of the library of comprehensions: signatures, results, and the definitions."""

from collections import defaultdict
from pathlib import Path

from docs.site.markdown import PageOpening, code, heading, page, plain, table
from polygym.frontend.tc import library
from polygym.frontend.tc.syntax import tree

_OPENING = PageOpening(
    (
        "`tc:NAME` is a program for every command and environment. "
        '`polygym.tc.define("tc:NAME")` is a function.',
        "Elements are `float`; `tc:NAME:double` has elements of type `double`.",
        "A gradient has the name of its operator and `_gradient`.",
    ),
    """\
```python
import numpy as np
import polygym.tc

conv1d = polygym.tc.define("tc:conv1d")
print(conv1d(np.arange(6, dtype=np.float32), np.ones(3, np.float32)))
```
""",
)


def comprehensions_page() -> str:
    """Return the page: a table for each file of the library, and its text."""
    by_file: dict[Path, list[tuple[str, str, str]]] = defaultdict(list)
    for name, definition in library.definitions().items():
        by_file[Path(definition.location.file)].append(_row(name, definition))
    parts = []
    for file, rows in by_file.items():
        parts.append(heading(2, file.stem.replace("_", " ").capitalize()))
        parts.append(table(("Comprehension", "Results", "Meaning"), rows))
        parts.append(f"```text\n{file.read_text().strip()}\n```\n")
    return page("Library of comprehensions", _OPENING, *parts)


def _row(name: str, definition: tree.TcDefinition) -> tuple[str, str, str]:
    takes = ", ".join(parameter.name for parameter in definition.parameters)
    returns = ", ".join(output.name for output in definition.outputs)
    return code(f"{name}({takes})"), code(returns), plain(library.description(name))
