"""Small worlds: what is known to hold there is found, in the same words every time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from polygym.graphs import rules
from polygym.graphs.operators.types import Data, NumberData, TensorType
from polygym.graphs.rules.generate import generate_rules
from polygym.graphs.rules.generate.enumeration import (
    VOCABULARIES,
    Vocabulary,
    enumerate_terms,
    fingerprint,
)
from polygym.graphs.rules.generate.rule_table import (
    instantiate,
    is_derivable,
    prune_rules,
    rules_table,
)
from polygym.graphs.rules.generate.side_conditions import add_conditions
from polygym.graphs.rules.verification import VerifiedRule, verify_rule
from polygym.rewrite.rule import Rule, parse_rules
from polygym.rewrite.s_expressions import parse_term, term_text

_SUMS = Vocabulary("sums", (("?x", (2, 2)), ("?y", (2, 2))), "(ewadd ?0 ?1)\n(relu ?0)\n", 2)
_RELUS = Vocabulary("relus", (("?x", (2, 2)),), "(relu ?0)\n(abs ?0)\n", 2)
_SHARED = Vocabulary(
    "shared",
    (("?x", (3, 5)), ("?w", (5, 2)), ("?v", (5, 4))),
    "(matmul none ?0 ?1)\n(concat2 1 ?0 ?1)\n",
    2,
    requires_shared_input=True,
)


def _found(folder: Path, *worlds: Vocabulary, seed: int = 0) -> list[str]:
    folder.mkdir(exist_ok=True)
    made = generate_rules(folder / "found.rules", seed=seed, worlds=worlds)
    return [str(rule).partition(": ")[2] for rule in made.rules]


def test_sums_commute_and_relu_is_idempotent(tmp_path: Path) -> None:
    """What a world of sums and relu has to give, and nothing that does not hold."""
    texts = _found(tmp_path, _SUMS)
    assert "(ewadd ?x ?y) => (ewadd ?y ?x)" in texts
    assert "(relu (relu ?x)) => (relu ?x)" in texts
    for rule in rules.load_rules([str(tmp_path / "found.rules")]):
        assert isinstance(verify_rule(rule), VerifiedRule)


def test_two_products_of_one_matrix_become_one(tmp_path: Path) -> None:
    """The rule with two sources, with the axis and the place of the split computed."""
    texts = _found(tmp_path, _SHARED)
    assert len(texts) == 1
    assert texts[0].startswith("(matmul ?a ?x ?v) & (matmul ?a ?x ?w) => (split0 (split ")
    assert "(=extent ?v (=column-axis ?v))" in texts[0]
    [rule] = rules.load_rules([str(tmp_path / "found.rules")])
    assert rule.is_multiple


def test_the_same_seed_gives_the_same_table(tmp_path: Path) -> None:
    """Byte by byte, but for the time that it took."""
    tables = []
    for name in ("one", "other"):
        _found(tmp_path / name, _SUMS, _RELUS)
        text = (tmp_path / name / "found.rules").read_text()
        tables.append([line for line in text.split("\n") if "minutes" not in line])
    assert tables[0] == tables[1]


def test_an_interrupted_run_goes_on(tmp_path: Path) -> None:
    """Worlds that are done are not looked at again; a table is written when time is up."""
    target = tmp_path / "found.rules"
    said: list[str] = []

    def stop(text: str) -> None:
        said.append(text)
        if text.startswith("relus"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate_rules(target, worlds=(_SUMS, _RELUS), progress=stop)
    assert target.with_name("found.rules.journal").exists()
    again: list[str] = []
    made = generate_rules(target, worlds=(_SUMS, _RELUS), progress=again.append)
    assert any(text.startswith("sums") for text in said)
    assert not any(text.startswith("sums") for text in again)
    assert made.is_complete
    assert not target.with_name("found.rules.journal").exists()
    whole = [str(rule) for rule in made.rules]
    assert whole == [
        str(rule) for rule in generate_rules(tmp_path / "x.rules", worlds=(_SUMS, _RELUS)).rules
    ]
    late = generate_rules(tmp_path / "late.rules", worlds=(_SUMS, _RELUS), minutes=0)
    assert not late.is_complete
    assert "when time was up" in (tmp_path / "late.rules").read_text()


def test_terms_of_equal_value_are_candidates() -> None:
    """Every pair does have equal values, and no two representatives have."""
    terms = enumerate_terms(_SUMS, 3)
    keys = [fingerprint(term.arrays) for size in (0, 1) for term in terms.by_size[size]]
    assert len(set(keys)) == len(keys)
    pairs = {(term_text(one), term_text(other)) for one, other in terms.candidates}
    assert ("(relu (relu ?x))", "(relu ?x)") in pairs
    assert ("(ewadd ?y ?x)", "(ewadd ?x ?y)") in pairs
    assert fingerprint((np.array([-0.0]),)) == fingerprint((np.array([0.0]),))


@pytest.mark.parametrize(
    ("text", "own", "expected"),
    [
        (
            "r: (concat2 ?m (concat2 ?n ?x ?y) (concat2 ?n ?z ?w)) "
            "=> (concat2 ?n (concat2 ?m ?x ?z) (concat2 ?m ?y ?w))",
            {"?m": NumberData(0), "?n": NumberData(1)},
            "(different ?m ?n)",
        ),
        (
            "r: (split0 (split ?n ?i (concat2 ?n ?x ?y))) => ?x",
            {"?n": NumberData(0), "?i": NumberData(2)},
            "(equal ?i (=extent ?x ?n))",
        ),
    ],
)
def test_conditions_are_the_weakest_that_do(text: str, own: dict[str, Data], expected: str) -> None:
    """One word, and the right one."""
    [rule] = parse_rules(text)
    tensors: dict[str, Data] = {name: TensorType((2, 2)) for name in ("?x", "?y", "?z", "?w")}
    completed = add_conditions(rule, {**tensors, **own})
    assert completed is not None
    words = [
        term_text(term).replace("(different ?n ?m)", "(different ?m ?n)")
        for term in completed.conditions
    ]
    assert words == [expected]


def test_what_never_holds_has_no_conditions() -> None:
    """Sums are no products."""
    [rule] = parse_rules("r: (ewadd ?x ?y) => (ewmul ?x ?y)")
    own: dict[str, Data] = {"?x": TensorType((2, 2)), "?y": TensorType((2, 2))}
    assert add_conditions(rule, own) is None


def test_what_follows_is_dropped() -> None:
    """A longer sum follows from the two laws; neither law from the other."""
    table_ = parse_rules(
        "c: (ewadd ?x ?y) => (ewadd ?y ?x)\n"
        "a: (ewadd ?x (ewadd ?y ?z)) => (ewadd (ewadd ?x ?y) ?z)\n"
        "long: (ewadd ?x (ewadd ?y (ewadd ?z ?w))) => (ewadd ?w (ewadd ?z (ewadd ?y ?x)))\n"
    )
    assert [rule.name for rule in prune_rules(table_, 0)] == ["c", "a"]
    binding: dict[str, Data] = {"?x": TensorType((2,)), "?y": TensorType((2,))}
    term, other = (instantiate(parse_term(text), binding) for text in ("(relu ?x)", "(relu ?y)"))
    assert not is_derivable(term, other, table_)


def test_a_table_is_read_as_it_was_written() -> None:
    """Both ways in one line, a whole that is named, conditions below."""
    text = (
        "one: (relu (matmul none ?x ?y)) <=> (matmul relu ?x ?y)\n"
        "two: (matmul ?a ?x ?v) & (matmul ?a ?x ?w) => (split0 =m) & (split1 =m)\n"
        "    let m = (split 1 (=extent ?v 1) (matmul ?a ?x (concat2 1 ?v ?w))) if (rank ?x 2)\n"
    )
    parsed = parse_rules(text)
    again = parse_rules(rules_table(parsed))
    assert again == parsed
    assert [type(rule) for rule in again] == [Rule] * 3


def test_worlds_have_up_to_four_operators_and_different_names() -> None:
    """What the module says of them."""
    assert len({world.name for world in VOCABULARIES}) == len(VOCABULARIES)
    assert max(world.max_operators for world in VOCABULARIES) == 4
