"""Reference page of the operators of tensor graphs, from their definitions."""

import inspect
import re
from collections.abc import Callable, Iterable

from docs.site.markdown import PageOpening, code, heading, page, plain, sentence, table
from polygym.graphs.onnx.importer.constant_folding import foldable_operators
from polygym.graphs.onnx.importer.node_order import import_rows, refused_operators
from polygym.graphs.operators import elementwise, images, movement, products, whole_numbers
from polygym.graphs.operators.definition import GraphOperator, OnnxMapping
from polygym.graphs.operators.registry import OPERATORS
from polygym.graphs.operators.types import DTYPES, ELEMENT_BYTES

FAMILIES = (
    ("Elements", elementwise),
    ("Whole numbers", whole_numbers),
    ("Products, reductions, normalization", products),
    ("Images", images),
    ("Movement, names, parts", movement),
)

_WRITTEN = re.compile(r'writer\.operator(?:_outputs)?\(\s*"(\w+)"')

_OPENING = PageOpening(
    (
        "A node of a tensor graph is `(operator child …)`.",
        "Kinds of children: N a number, S a text, T a tensor, P a split.",
        f"Elements are {', '.join(map(code, DTYPES))}; inputs and results also "
        f"{', '.join(code(name) for name in ELEMENT_BYTES if name not in DTYPES)}.",
    ),
    """\
```text title="tiny.txt"
graph tiny
%0 = input x@64-1024
%1 = weight w@1024-1024
%2 = matmul relu %0 %1
output y %2
```

```console
$ polygym graph show tiny.txt
  result y: 64-1024
```
""",
)

_IMPORT = """\
Half precision is computed in `float32`, and rounded after each operator. Narrow integers wrap; of
64 unsigned bits, operators that would differ from signed ones are refused. Quantized operators are
computed with integers, as in the file.
"""

_INTRODUCTION = """\
*ONNX* names the operators that the exporter writes.
"""


def operators_page() -> str:
    """Return the page."""
    parts: list[str] = []
    for title, family in FAMILIES:
        rows = [_row(operator) for operator in family.OPERATORS if operator.name in OPERATORS]
        header = ("Operator", "Children", "Result", "ONNX", "Elements")
        parts += [heading(2, title), table(header, rows)]
    return page(
        "Graph operators",
        _OPENING,
        _INTRODUCTION,
        *parts,
        f"Further operators by their number of children: {code('concat2')}, {code('concat3')}, … "
        f"take {code(concat_children())}.",
        heading(2, "ONNX import"),
        _IMPORT,
        table(("Operators", "Read"), _import_rows()),
    )


def _import_rows() -> list[tuple[str, str]]:
    """Return which operators of ONNX are read, by whether and when."""
    read = set(import_rows())
    constants = {*foldable_operators(), "If"} - read
    rows = [(_codes(read), "yes"), (_codes(constants), "where their inputs are known")]
    return rows + [(_codes(names), f"no; {hint}") for hint, names in refused_operators().items()]


def _codes(names: Iterable[str]) -> str:
    return ", ".join(map(code, sorted(names)))


def concat_children() -> str:
    """Return the children of a concatenation of two tensors."""
    return movement.concat(2).takes


def _row(operator: GraphOperator) -> tuple[str, ...]:
    return (
        code(operator.name),
        code(operator.takes),
        sentence(plain(operator.doc)),
        _onnx(operator),
        "floating point" if operator.needs_floating else "all",
    )


def _onnx(operator: GraphOperator) -> str:
    match operator.onnx:
        case None:
            return "none"
        case OnnxMapping(kind):
            return code(kind)
        case write:
            return ", ".join(map(code, _written_kinds(operator.name, write))) or "none"


def _written_kinds(name: str, write: Callable[..., object]) -> tuple[str, ...]:
    """Return the ONNX operators that a function writes: named in it, around it, or as it is."""
    source = inspect.getsource(write)
    if named := _WRITTEN.findall(source):
        return tuple(dict.fromkeys(named))
    around = inspect.getclosurevars(write).nonlocals.get("kind")
    if isinstance(around, str):
        return (around,)
    alike = name.replace("-", "")
    return tuple(kind for kind in import_rows() if kind.lower() == alike)
