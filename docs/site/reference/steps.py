"""Reference page of transformation steps: form, effect and side condition of each."""

import inspect

from docs.site.docstrings import as_markdown
from docs.site.markdown import PageOpening, code, fenced, heading, page, table
from polygym.transformations.steps import STEP_TYPES

_OPENING = PageOpening(
    (
        "A step changes the loops, the storage or the mapping of a program.",
        "`polygym/Transform-v0` offers the legal ones as actions; searches and texts use the same.",
        "Loops are `L1`, `L2`, …; statements are `S0`, `S1`, … in the order of the text.",
    ),
    """\
```python
import gymnasium

env = gymnasium.make("polygym:polygym/Transform-v0", kernel="gemm", dataset="mini")
env.reset(seed=1)
print(env.unwrapped.steps()[2:5])
```
""",
)


def steps_page() -> str:
    """Return the page."""
    parts = []
    for kind in STEP_TYPES:
        keyword = kind.syntax.split()[0]
        parts += [
            heading(2, keyword),
            fenced(
                f"{kind.syntax}\n{kind.example}" if kind.syntax != kind.example else kind.syntax
            ),
            as_markdown(inspect.cleandoc(kind.__doc__ or "")),
        ]
    rows = [(code(kind.syntax), code(kind.example)) for kind in STEP_TYPES]
    return page("Transformation steps", _OPENING, table(("Form", "Example"), rows), *parts)
