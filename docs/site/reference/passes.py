"""Reference page of passes: those of the C front end with their variants, and of code generation.

Recurrence passes have the programs on which they fire in the docstrings of their packages.
"""

import re
from importlib import import_module
from pkgutil import iter_modules

from docs.site.docstrings import inline
from docs.site.markdown import PageOpening, code, heading, page, plain, sentence, table
from polygym.codegen import recurrences
from polygym.codegen.passes import PASSES
from polygym.frontend.c.regions.passes import DEFAULT_VARIANT, VARIANTS
from polygym.frontend.c.regions.passes import PASSES as C_PASSES
from polygym.mapping.knobs import KNOBS
from polygym.mapping.mapping import SEQUENTIAL_MAPPING

_FIRES_ON = re.compile(r"^fires on: (.*)$", re.MULTILINE)

_OPENING = PageOpening(
    (
        "The front end rewrites a region in C, pass by pass.",
        "Code generation turns a legal schedule into a tree, loops and LLVM IR.",
        "`polygym show PROGRAM --after PASS` prints what a pass leaves; `--after list` names all.",
    ),
    """\
```console
$ polygym show mvt --after build
kernel_mvt after build: ...
- S0
  S0: i   coincident
```
""",
)

_FRONT_END = """\
`polygym show FILE --after PASS` prints the C that a pass leaves.
"""

_VARIANTS = """\
The front end reads a refused region again in each variant that applies. The first variant that
succeeds counts; otherwise the message is that of the default.
"""

_CODE_GENERATION = """\
The last column says whether the mapping `sequential` skips the pass.
"""

_RECURRENCES = """\
Transformations that serve few programs are packages of their own, with programs on which they
fire.
"""


def passes_page() -> str:
    """Return the page."""
    return page(
        "Passes",
        _OPENING,
        heading(2, "C front end"),
        _FRONT_END,
        table(("Pass", "Effect"), [(code(row.name), plain(row.summary)) for row in C_PASSES]),
        heading(3, "Variants"),
        _VARIANTS,
        table(
            ("Variant", "Effect"),
            [(code(row.name), plain(row.summary)) for row in (DEFAULT_VARIANT, *VARIANTS)],
        ),
        heading(2, "Code generation"),
        _CODE_GENERATION,
        table(
            ("Pass", "Produces", "Result", "`sequential`"),
            [
                (
                    code(row.name),
                    row.produces.value,
                    sentence(plain(row.summary)),
                    "runs" if row.is_enabled(SEQUENTIAL_MAPPING) else "skips it",
                )
                for row in PASSES
            ],
        ),
        heading(3, "Recurrences"),
        _RECURRENCES,
        table(("Package", "Transformation", "Fires on"), _recurrences()),
        f"Options that the passes read: {', '.join(code(knob.name) for knob in KNOBS)}; see "
        "[mapping options](knobs.md).",
    )


def _recurrences() -> list[tuple[str, str, str]]:
    rows = []
    for module in iter_modules(recurrences.__path__):
        document = import_module(f"{recurrences.__name__}.{module.name}").__doc__ or ""
        fires = _FIRES_ON.search(document)
        programs = [] if fires is None else fires[1].split(", ")
        rows.append(
            (
                code(module.name),
                inline(document.split("\n", 1)[0]),
                ", ".join(map(code, programs)),
            )
        )
    return rows
