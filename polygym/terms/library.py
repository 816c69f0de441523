"""The programs of *Knossos: Compiling AI with AI*: sets of expressions, files of programs.

The 48 expressions of its Table 5 are twelve shapes of two parts each, A and B, for which six small
expressions of x and y stand: so they are written here, in the paper's order, and
:func:`combinations` has the other ones that can be made so. Table 6 has 8 more.

    >>> from polygym.terms.language.printer import text_of
    >>> text_of(expressions("test")[5].body)
    '(sub (mul (mul 2.0 (log x)) (log x)) (add x y))'

``linear-algebra``, ``gemm``, ``convolution-train`` and ``convolution`` are Figures 10 to 13, files
in ``programs/``. Where the figures read an element outside of a vector, transposed, or have lost
parentheses, the files have what is meant; each says so. ``network`` has layers of a network as they
are computed, and ``gradients`` what :mod:`polygym.terms.language.derivatives` makes of these.
``twenty`` are programs to test searches on, of which nothing learns
(:mod:`polygym.terms.generated_programs`).
"""

from functools import cache
from importlib.resources import files
from itertools import permutations

import numpy as np

from polygym.errors import InputError
from polygym.terms.language.parser import parse_program, parse_programs
from polygym.terms.language.printer import text_of
from polygym.terms.language.program import TermProgram

PARTS = {
    "sum": "(add x y)",
    "product": "(mul x y)",
    "twice": "(mul x 2.0)",
    "quotient": "(div x (sub y 1))",
    "inverse": "(div 1.0 (add x 1))",
    "logarithm": "(log x)",
}
SHAPES = (
    "(mul (div (mul 2.0 A) (sub A 1)) B)",
    "(add (add A 1) (div (add B A) 2))",
    "(div (add (mul 2.0 A) A) B)",
    "(div (add (add A B) 1) (sub (mul A 3) 1))",
    "(add (div A (add B A)) A)",
    "(mul (add A B) (mul A 3))",
    "(div (add (add A 1) 1) (sub (add B A) 1))",
    "(sub (mul (mul 2.0 A) A) B)",
    "(mul (add A 1) (add B A))",
    "(mul (div A (add B A)) A)",
    "(add (add A B) (div (mul A 3) 2))",
    "(div (mul A A) (sub A B))",
)

# The shape's number, A, B; in the order of the table.
_TRAIN = """
0 sum product; 1 twice quotient; 2 product inverse; 3 quotient logarithm; 4 inverse sum;
5 logarithm twice; 5 sum logarithm; 6 twice sum; 7 product twice; 8 quotient product;
9 inverse quotient; 10 logarithm inverse; 10 sum quotient; 11 twice inverse; 0 product logarithm;
1 quotient sum; 2 inverse twice; 3 logarithm product; 3 sum twice; 4 twice product;
5 product quotient; 6 quotient inverse; 7 inverse logarithm; 8 logarithm sum; 8 sum inverse;
9 twice logarithm; 10 product sum; 11 quotient twice; 0 inverse product; 1 logarithm quotient;
1 sum product; 2 twice quotient; 3 product inverse; 4 quotient logarithm; 5 inverse sum;
6 logarithm twice
"""
_TEST = """
2 sum twice; 3 twice product; 4 product quotient; 5 quotient inverse; 6 inverse logarithm;
7 logarithm sum; 7 sum inverse; 8 twice logarithm; 9 product sum; 10 quotient twice;
11 inverse product; 0 logarithm quotient
"""
_BOOTSTRAP = (
    "(div (div 1.0 x) (add 1.0 (div 1.0 x)))",
    "(add (div (div 1.0 x) (add (div 1.0 x) 1.0)) (div 1.0 x))",
    "(add (div (div 1.0 x) (add (div 1.0 x) 2.0)) (div 1.0 x))",
    "(mul (div x y) (div x y))",
    "(div (mul (div x y) x) y)",
    "(add (div (mul x y) (add 1.0 (mul x y))) (mul x y))",
    "(add (div 1.0 (add 1.0 (mul x y))) (mul x y))",
    "(div (mul x y) (add 1.0 (mul x y)))",
)

SETS = ("train", "test", "bootstrap")
FILES = (
    "linear-algebra",
    "gemm",
    "convolution-train",
    "convolution",
    "network",
    "gradients",
    "twenty",
)


@cache
def expressions(name: str) -> tuple[TermProgram, ...]:
    """Return a set of expressions: ``train``, ``test`` or ``bootstrap``.

    Raises:
        InputError: there is no such set.
    """
    if name not in SETS:
        raise InputError(f"a set of expressions: expected one of {', '.join(SETS)}, found {name!r}")
    if name == "bootstrap":
        return tuple(map(parse_program, _BOOTSTRAP))
    rows = (_TRAIN if name == "train" else _TEST).split(";")
    return tuple(_made(int(shape), one, other) for shape, one, other in map(str.split, rows))


@cache
def combinations() -> tuple[TermProgram, ...]:
    """Return every shape with every two parts: 360, of which 48 are in the sets."""
    return tuple(
        _made(shape, one, other)
        for shape in range(len(SHAPES))
        for one, other in permutations(PARTS, 2)
    )


def larger_expressions(seed: int, count: int) -> tuple[TermProgram, ...]:
    """Return expressions of three of :func:`combinations` each, joined by operators, at random.

    None of the three is in a set, so nothing that was learned from these has seen them.
    """
    rng = np.random.default_rng(seed)
    known = {program.body for name in SETS for program in expressions(name)}
    others = [program.body for program in combinations() if program.body not in known]
    result = []
    for _ in range(count):
        chosen = rng.choice(len(others), 3, replace=False)
        first, second, third = (text_of(others[at]) for at in chosen)
        outer, inner = rng.choice(["add", "sub", "mul", "div"], 2)
        result.append(parse_program(f"({outer} {first} ({inner} {second} {third}))"))
    return tuple(result)


@cache
def programs(name: str) -> tuple[TermProgram, ...]:
    """Return the programs of one of the files.

    Raises:
        InputError: there is no such file.
    """
    if name not in FILES:
        raise InputError(f"a file of programs: expected one of {', '.join(FILES)}, found {name!r}")
    text = files(__package__).joinpath("programs", f"{name}.ks").read_text()
    return tuple(parse_programs(text, f"{name}.ks"))


def _made(shape: int, one: str, other: str) -> TermProgram:
    text = SHAPES[shape].replace("A", PARTS[one]).replace("B", PARTS[other])
    return parse_program(text)
