"""Data of its own for a program that is timed: the same on every machine, by a rule, as C.

Element (i₀, i₁, …) of argument p comes from w = (1 + 3·p + Σ_k (2k + 1)·i_k): a Float is
(w mod 97 + 1) / 97, in (0, 1], so that nothing overflows in a few products and little is divided by
0; an Integer w mod s, s being the least size of any vector, so that it is the number of an element;
a truth value w mod 2.
"""

from __future__ import annotations

from polygym.terms.code.c_values import C_TYPES
from polygym.terms.code.interface import TermCode
from polygym.terms.language.types import BOOL, FLOAT

NAME = "polygym_data"
_EMPTY_NAME = "polygym_nothing"


def data_source(code: TermCode) -> str:
    """Return the C text of a function that fills the inputs of another."""
    least = min((size for array in code.inputs for size in array.extents), default=1)
    arguments, lines = [], []
    for number, array in enumerate(code.inputs):
        extents = array.extents or (1,)
        sizes = "".join(f"[{size}]" for size in extents)
        arguments.append(f"{C_TYPES[array.kind].value} {array.name}{sizes}")
        counters = [f"i{at}" for at in range(len(extents))]
        for counter, size in zip(counters, extents, strict=True):
            lines.append(f"for (long {counter} = 0; {counter} < {size}; {counter}++)")
        terms = [f"{2 * at + 1} * {counter}" for at, counter in enumerate(counters)]
        rule = " + ".join([str(1 + 3 * number), *terms])
        place = array.name + "".join(f"[{counter}]" for counter in counters)
        if array.kind == FLOAT:
            lines.append(f"{place} = (double)(({rule}) % 97 + 1) / 97;")
        else:
            lines.append(f"{place} = ({rule}) % {2 if array.kind == BOOL else least};")
    if not lines:
        lines = [f"{_EMPTY_NAME} = 0;"]
        declared = f"double {_EMPTY_NAME};\n"
    else:
        declared = ""
    body = "\n".join(lines)
    return (
        f"void {NAME}({', '.join(arguments)})\n{{\n{declared}#pragma scop\n{body}\n"
        "#pragma endscop\n}\n"
    )
