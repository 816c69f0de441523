"""No text whatever gives anything but a Scop or an InputError, and none takes long."""

from __future__ import annotations

import contextlib
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.errors import InputError
from polygym.frontend.c import parse_text
from tests.frontend.c.programs import MACROS, PROGRAMS

SECONDS = 10

SEEDS = [MACROS + program.text() for program in PROGRAMS.values()]
SEEDS += [path.read_text() for path in sorted((Path(__file__).parent / "cases").glob("*/*.c"))]
PIECES = """( ) { } [ ] ; , ? : + - * / % < << = == != && || ! ~ & ^ ++ -- += i j n 0 1 1.5f 0x 'a'
"s" int double for if else while return sizeof struct goto S: case const static ... -> . @ $ é min
abs floord (int) A[i] 99999999999999999999 typedef unsigned void *p ## \\ /* */ //""".split()
PIECES += "unsigned char short x[I[i]] k++ a=b=2 if(x[i]>0) break k=i-1; f(i) s.x -> *(x+i)".split()
PIECES += ["\n#pragma scop\n", "\n#pragma endscop\n", "\n#if 1\n", "\n#else\n", "\n#elif\n",
           "\n#define i i i\n", "\n#include <x.h>\n", "\n#", "\n#\n", "\0"]  # fmt: skip


def survives(text: str) -> None:
    start = time.monotonic()
    with contextlib.suppress(InputError):
        parse_text(text)
    assert time.monotonic() - start < SECONDS


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_mutated_programs(data: st.DataObject) -> None:
    words = re.findall(r"\w+|\s+|[^\w\s]", data.draw(st.sampled_from(SEEDS)))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(words) - 1))
        match data.draw(st.sampled_from(["drop", "insert", "replace", "swap", "repeat"])):
            case "drop":
                del words[place : place + data.draw(st.integers(1, 3))]
            case "insert":
                words.insert(place, data.draw(st.sampled_from(PIECES)))
            case "replace":
                words[place] = data.draw(st.sampled_from(PIECES))
            case "swap":
                other = data.draw(st.integers(0, len(words) - 1))
                words[place], words[other] = words[other], words[place]
            case _:
                words[place:place] = words[place : place + 20]
    survives("".join(words))


@pytest.mark.parametrize("before", [")\nstatic int x[2];\n", "}\n", "]", ")}", "}{"])
def test_brackets_that_were_not_opened(before: str) -> None:
    survives(before + SEEDS[0])
    with pytest.raises(InputError):
        parse_text(before + "void f(int n) {\n#pragma scop\n;\n#pragma endscop\n}\n")


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_random_texts(text: str) -> None:
    survives(text)
    survives(f"void f(int n, double x[n]) {{\n#pragma scop\n{text}\n#pragma endscop\n}}")


EXPRESSIONS = st.recursive(
    st.sampled_from("i j n m k 0 1 2 3 -1 x[i] A[i][j] 1.5 t".split()),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+ - * / % << >> < <= == != && || &".split()), inner).map(
            lambda parts: f"({' '.join(parts)})"
        ),
        st.tuples(inner, inner, inner).map(lambda p: f"({p[0]} ? {p[1]} : {p[2]})"),
        st.tuples(st.sampled_from(["MIN", "MAX", "floord", "fmax"]), inner, inner).map(
            lambda p: f"{p[0]}({p[1]}, {p[2]})"
        ),
        inner.map(lambda p: f"(-{p})"),
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(EXPRESSIONS, EXPRESSIONS, EXPRESSIONS, EXPRESSIONS)
def test_random_expressions_everywhere(lower: str, upper: str, test: str, value: str) -> None:
    survives(
        MACROS + "void f(int n, int m, int k, double A[n][m], double x[n + 3]) {\n  double t = 0;\n"
        f"#pragma scop\nfor (int i = 0; i < n; i++)\n  for (int j = {lower}; j < {upper}; j += 2)\n"
        f"    if ({test})\n      x[i] = {value};\n    else\n      x[{value}] += 1;\n"
        "#pragma endscop\n}\n"
    )


@pytest.mark.parametrize(
    "region",
    [
        "x[0] = " + "(" * 5000 + "1" + ")" * 5000 + ";",
        "x[0] = " + "-" * 20_000 + "1;",
        "x[0] = " + "1 + " * 20_000 + "1;",
        "{" * 3000 + "x[0] = 1;" + "}" * 3000,
        "if (n) " * 3000 + "x[0] = 1;",
        "for (int i = 0; i < n; i++) " * 300 + "x[0] = 1;",
        "x[0] = " + "n ? 1 : " * 3000 + "2;",
        "for (int i = 0; i < n; i++) if (" + " && ".join(f"i % {p} != {p - 1}" for p in
                                                       range(2, 60)) + ") x[i] = 0;",
        "for (int i = 0; i < n; i++) if (" + " || ".join(f"i / {p} % 2 == 1" for p in
                                                       range(2, 40)) + ") x[i] = 0;",
        "for (int i = 0; i != n; i += 7) if ((i / 3 + i % 5) / 4 % 3 == 1) x[i % n] = 0;",
    ],
)  # fmt: skip
def test_large_and_deep_regions(region: str) -> None:
    survives(f"void f(int n, double x[n]) {{\n#pragma scop\n{region}\n#pragma endscop\n}}")
