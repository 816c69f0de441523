"""Larger random expressions: three times as large, of parts that no set has."""

from __future__ import annotations

from polygym.rewrite.term import postorder
from polygym.terms.cost import StaticCost
from polygym.terms.language.nodes import term_facts
from polygym.terms.library import SETS, expressions, larger_expressions


def test_larger_expressions() -> None:
    programs = larger_expressions(18, 50)
    assert [term_program.body for term_program in programs] == [
        expression.body for expression in larger_expressions(18, 50)
    ]
    assert len({program.body for program in programs}) == 50
    assert programs[0].body is not larger_expressions(19, 1)[0].body
    train = expressions("train")
    sizes = [
        sum(term_facts(entry.body).nodes for entry in some) / len(some)
        for some in (programs, train)
    ]
    assert 2.7 < sizes[0] / sizes[1] < 3.3
    known = {program.body for name in SETS for program in expressions(name)}
    assert not known & {part for program in programs for part in postorder([program.body])}
    assert all(StaticCost()(program.body) > 25.0 for program in programs)
