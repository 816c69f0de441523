"""Terms: equal ones are one object, and unused ones are forgotten."""

from __future__ import annotations

import gc
import pickle
import threading

from hypothesis import given

from polygym.rewrite.term import postorder, size, substitute, term, variable_names
from tests.rewrite.oracles import terms


def test_equal_terms_are_one_object() -> None:
    assert term("f", term("x"), term(1)) is term("f", term("x"), term(1))
    assert term("f", term("x")) is not term("f", term("y"))


def test_numbers_that_python_calls_equal_are_different_heads() -> None:
    assert len({term(1), term(1.0), term(True), term("1")}) == 4


def test_an_unused_term_is_forgotten() -> None:
    from polygym.rewrite import term as module

    gc.collect()
    before = len(module._TABLE)
    kept = term("nobody-else-has-this", term("nor-this"))
    assert len(module._TABLE) == before + 2
    del kept
    gc.collect()
    assert len(module._TABLE) == before


def test_a_long_chain_is_walked_pickled_and_dropped() -> None:
    chain = term("x")
    for _ in range(30_000):
        chain = term("f", chain)
    assert size([chain]) == 30_001
    assert pickle.loads(pickle.dumps(chain)) is chain
    del chain


def test_threads_make_one_object() -> None:
    made: list[list[int]] = []
    kept = []

    def make() -> None:
        mine = [term("f", term(f"thread {place}")) for place in range(2000)]
        kept.append(mine)
        made.append([id(node) for node in mine])

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(ids == made[0] for ids in made)


@given(terms())
def test_postorder_has_each_node_once_and_children_first(root: object) -> None:
    order = list(postorder([root]))  # type: ignore[list-item]
    assert len(set(order)) == len(order)
    assert order[-1] is root
    for place, node in enumerate(order):
        assert all(child in order[:place] for child in node.children)


@given(terms(("?x", "?y")))
def test_substituting_variables_for_themselves_changes_nothing(pattern: object) -> None:
    names = variable_names([pattern])  # type: ignore[list-item]
    assert substitute(pattern, {name: term(name) for name in names}) is pattern  # type: ignore[arg-type]


def test_a_zero_has_a_sign() -> None:
    assert term(0.0) is not term(-0.0)
    assert str(term(-0.0).head) == "-0.0"
    assert term(0.0) is term(0.0)
