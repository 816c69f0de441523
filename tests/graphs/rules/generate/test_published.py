"""Published rules: read, translated, and derived from ours where they follow."""

from __future__ import annotations

import pytest

from polygym.errors import SourceError
from polygym.graphs import rules
from polygym.graphs.rules.generate.published import show_rules, summary, translate_rules

_TABLE = """
; Sums, products, and activations as numbers.
(ewadd ?input_1 (ewadd ?input_2 ?input_3))=>(ewadd ?input_3 (ewadd ?input_1 ?input_2))
(matmul (matmul ?input_1 ?input_2) ?input_3)=>(matmul ?input_1 (matmul ?input_2 ?input_3))
(tanh (matmul 0 ?x ?y)) => (matmul 3 ?x ?y)
(relu (relu ?x))=>(relu ?x)
(smul (ewmul ?x ?y) ?s)=>(ewmul ?y (smul ?x ?s))
(concat 0 2 (relu ?x) (relu ?y))=>(relu (concat 0 2 ?x ?y))
(poolmax 3 3 1 1 0 (relu ?x))=>(relu (poolmax 3 3 1 1 0 ?x))
(poolmax ?x 3 3 1 1 1 2)=>(relu (poolmax ?x 3 3 1 1 1 0))
(transpose (transpose ?x))=>?x
(split_0 (split ?a (concat ?a ?x ?y)))=>?x
; Two results: on one line, and on two.
(matmul 0 ?x ?v), (matmul 0 ?x ?w)
    => (split_0 (split 1 (matmul 0 ?x (concat 1 2 ?v ?w)))),
       (split_1 (split 1 (matmul 0 ?x (concat 1 2 ?v ?w))))
(conv2d 1 1 0 2 ?x ?v)=>(split_0 (split 1 (conv2d 1 1 0 2 ?x (concat 0 4 ?v ?w))))
(conv2d 1 1 0 2 ?x ?w)=>(split_1 (split 1 (conv2d 1 1 0 2 ?x (concat 0 4 ?v ?w))))
; Not to be said here, or not true.
(conv2d 1 1 0 0 ?x (Iconv 3 3))=>?x
(relu ?x)=>(split_0 (split 1 ?y))
(ewadd ?x ?y)=>(ewmul ?x ?y)
(relu (ewadd ?x ?y))=>(relu ?x)
""".replace("\n    ", " ").replace("\n       ", " ")


def test_a_table_is_translated_and_derived() -> None:
    lines = translate_rules(_TABLE)
    texts = {str(line.rule).partition(": ")[2] for line in lines if line.rule is not None}
    assert "(tanh (matmul none ?x ?y)) => (matmul tanh ?x ?y)" in texts
    assert ("(mul (ewmul ?x ?y) ?s) => (ewmul ?y (mul ?x ?s)) if (one-element ?s)") in texts
    assert (
        "(concat2 0 (relu ?x) (relu ?y)) => (relu (concat2 0 ?x ?y)) if (rank ?x 2) & (rank ?y 2)"
    ) in texts
    assert "(transpose (transpose ?x 1-0) 1-0) => ?x" in texts
    shown = show_rules(lines, rules.load_rules(rules.TABLES))
    counts = summary(shown)
    assert counts["total"] == 16
    # Of the four at the end two cannot be said, and two are never equal.
    reasons = counts["not_expressible"]
    assert reasons["operator Iconv"] == 1
    assert sum(reasons.values()) == 4
    assert counts["translated"] == counts["derivable"]["3"] == 12
    assert counts["derivable"]["1"] <= counts["derivable"]["2"] <= counts["derivable"]["3"]
    # The convolutions of one image are equal in one group alone.
    assert [line.is_partial for line in shown if line.rule and "conv" in line.text] == [True]
    assert not counts["not_derivable"]


def test_without_rules_nothing_follows() -> None:
    shown = show_rules(translate_rules("(relu (relu ?x))=>(relu ?x)"), [])
    assert summary(shown)["derivable"] == {"1": 0, "2": 0, "3": 0}
    assert summary(shown)["not_derivable"] == 1


def test_two_halves_of_one_rule() -> None:
    """Lines of which each needs the other's variables are one rule, and others are not."""
    lines = translate_rules(
        """(relu ?a)=>(split_0 (split 0 (relu (concat 0 1 ?a ?b))))
        (relu ?b)=>(split_1 (split 0 (relu (concat 0 1 ?a ?b))))
        (relu ?c)=>(split_0 (split 0 (relu (concat 0 1 ?c ?d))))
        (relu (relu ?x))=>(relu ?x)"""
    )
    assert [line.rule is not None and len(line.rule.sources) for line in lines] == [2, False, 1]
    assert "expected ?d in a source" in lines[1].reason


@pytest.mark.parametrize(
    "text",
    ["(relu ?x)", "(relu ?x)=>(relu ?x)=>?x", "(relu ?x), (relu ?y)=>?x", "(relu ?x=>?x", "=>"],
)
def test_other_lines_are_refused_with_their_place(text: str) -> None:
    with pytest.raises(SourceError, match=r"taso\.txt:2"):
        translate_rules(f"\n{text}", "taso.txt")
