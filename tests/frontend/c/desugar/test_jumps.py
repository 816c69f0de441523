"""Jumps as ``if``: for every outcome of the conditions the same statements run, in their order."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pycparser import c_ast

from polygym.frontend.c.desugar.jumps import without_jumps
from polygym.frontend.c.source.parser import parse
from polygym.frontend.c.source.preprocessor import preprocess
from polygym.frontend.c.source.syntax import statements_of, walk

CONDITIONS = 4


def statements(text: str) -> list[Any]:
    source, _ = preprocess(f"void f(void) {{ {text} }}", "f.c")
    return statements_of(parse(source).ext[0].body)


class Jump(Exception):
    """A goto on its way to its label."""


def run(items: list[Any], truth: tuple[bool, ...], trace: list[str]) -> None:
    """Run the statements of a block; a jump out of an inner block goes on in one around it."""
    labels, place = {}, 0
    for at, item in enumerate(items):
        while isinstance(item, c_ast.Label):
            labels[item.name] = at
            item = item.stmt
    while place < len(items):
        try:
            step(items[place], truth, trace)
            place += 1
        except Jump as jump:
            if jump.args[0] not in labels:
                raise
            place = labels[jump.args[0]]


def step(node: Any, truth: tuple[bool, ...], trace: list[str]) -> None:
    match node:
        case c_ast.Label():
            step(node.stmt, truth, trace)
        case c_ast.Goto():
            raise Jump(node.name)
        case c_ast.Return():
            raise Jump(node)
        case c_ast.Compound():
            run(statements_of(node), truth, trace)
        case c_ast.If():
            branch = node.iftrue if truth[int(node.cond.name[1:])] else node.iffalse
            run(statements_of(branch), truth, trace)
        case c_ast.FuncCall():
            trace.append(node.name.name)
        case c_ast.EmptyStatement():
            pass
        case _:
            raise AssertionError(node)


def traces(items: list[Any]) -> list[list[str]]:
    result = []
    for truth in product((False, True), repeat=CONDITIONS):
        trace: list[str] = []
        with suppress(Jump):  # a return
            run(items, truth, trace)
        result.append(trace)
    return result


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, bool]:
    """Return the text of a block with jumps forward, some of them perhaps returns."""
    returns = draw(st.booleans())
    length = draw(st.integers(2, 6))
    names = iter(range(1000))

    def leaf(after: int) -> str:
        kind = draw(st.integers(0, 5))
        if kind == 0 and returns:
            return "return;"
        if kind <= 2 and after < length:
            return f"goto L{draw(st.integers(after, length - 1))};"
        return f"s{next(names)}();"

    def nested(depth: int, after: int) -> str:
        if depth == 0 or draw(st.booleans()):
            return leaf(after)
        inside = " ".join(nested(depth - 1, after) for _ in range(draw(st.integers(1, 2))))
        other = f" else {{ {nested(depth - 1, after)} }}" if draw(st.booleans()) else ""
        return f"if (c{draw(st.integers(0, CONDITIONS - 1))}) {{ {inside} }}{other}"

    parts = [f"L{at}: {nested(2, at + 1)}" for at in range(length)]
    return " ".join(parts), returns


@settings(max_examples=150, deadline=None)
@given(programs())
def test_every_way_is_the_same(program: tuple[str, bool]) -> None:
    text, returns = program
    made = without_jumps(statements(text), (lambda node: []) if returns else None)
    assert traces(made) == traces(statements(text))


def test_what_is_left_has_no_jumps() -> None:
    text = "if (c0) goto L; s0(); if (c1) { s1(); goto M; } L: s2(); M: s3();"
    made = without_jumps(statements(text), None)
    assert not any(isinstance(node, c_ast.Goto) for item in made for node in walk(item))
    assert traces(made) == traces(statements(text))


def test_what_is_not_understood_stays() -> None:
    for text in (
        "L: s0(); if (c0) goto L;",
        "for (;;) { if (c0) goto L; } L: s0();",
        "if (c0) goto L; { L: s0(); }",
        "if (c0) goto L; int u; L: u = 1;",
        "{ int u; if (c0) goto L; } u = 1; L: s0();",
        "switch (c0) { case 1: goto L; } s0(); L: s1();",
    ):
        items = statements(text)
        assert without_jumps(items, None) == items  # nodes are equal to themselves alone


def test_pieces_that_would_be_written_too_often_stay() -> None:
    text = " ".join(
        f"if (c{at % 4}) {{ if (c{(at + 1) % 4}) goto L; s{at}(); }}" for at in range(40)
    )
    items = statements(f"{text} L: s99();")
    assert without_jumps(items, None) == items
