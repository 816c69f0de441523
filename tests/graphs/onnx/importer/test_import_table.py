"""Tables of both directions: each row has a test, and no operator is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("onnx")

from benchmarks.onnx_study.node_cases import installed_cases
from polygym.graphs.onnx.format import NEWEST_OPSET
from polygym.graphs.onnx.importer.constant_folding import foldable_operators
from polygym.graphs.onnx.importer.node_order import import_rows, refused_operators
from polygym.graphs.operators.registry import OPERATORS


def test_all_operators_that_are_read_were_tried() -> None:
    text = "".join(path.read_text() for path in Path(__file__).parents[1].rglob("test_*.py"))
    words = set(re.findall(r"\w+", text))
    words |= {f"Reduce{word}" for word in words}
    # The others are tried by ONNX's own cases, which run too.
    tried = {node.op_type for case in installed_cases() for node in case.model.graph.node}
    assert set(import_rows()) <= words | tried


def test_every_operator_of_onnx_is_read_or_refused_by_name() -> None:
    """The reference page states which; nothing is forgotten."""
    from onnx import defs

    known = {
        schema.name
        for schema in defs.get_all_schemas_with_history()
        if schema.domain == "" and schema.since_version <= NEWEST_OPSET
    }
    refused = {name for names in refused_operators().values() for name in names}
    read = set(import_rows())
    assert known <= read | foldable_operators() | refused | {"If"}
    assert not refused & (read | foldable_operators())


def test_all_operators_of_graphs_are_written() -> None:
    written = {name for name, operator in OPERATORS.items() if operator.onnx is not None}
    assert written == set(OPERATORS) - {"input", "weight", "noop"}
