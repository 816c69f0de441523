"""Larger expressions, by dice: three times as large, of parts that no set has."""

from __future__ import annotations

from polygym.rewrite.term import postorder
from polygym.terms.cost import StaticCost
from polygym.terms.language.nodes import term_facts
from polygym.terms.library import SETS, expressions, larger_expressions


def test_larger_expressions() -> None:
    found = larger_expressions(18, 50)
    assert [one.body for one in found] == [one.body for one in larger_expressions(18, 50)]
    assert len({one.body for one in found}) == 50
    assert found[0].body is not larger_expressions(19, 1)[0].body
    train = expressions("train")
    sizes = [sum(term_facts(one.body).nodes for one in some) / len(some) for some in (found, train)]
    assert 2.7 < sizes[0] / sizes[1] < 3.3
    known = {one.body for name in SETS for one in expressions(name)}
    assert not known & {part for one in found for part in postorder([one.body])}
    assert all(StaticCost()(one.body) > 25.0 for one in found)
