"""Tables of both directions: each row has a test, and no operator is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("onnx")

from benchmarks.onnx_study.node_cases import installed_cases
from polygym.graphs.onnx.importer.node_order import import_rows
from polygym.graphs.operators.registry import OPERATORS


def test_all_operators_that_are_read_were_tried() -> None:
    text = "".join(path.read_text() for path in Path(__file__).parents[1].rglob("test_*.py"))
    words = set(re.findall(r"\w+", text))
    words |= {f"Reduce{word}" for word in words}
    # The others are tried by ONNX's own cases, which run too.
    tried = {node.op_type for case in installed_cases() for node in case.model.graph.node}
    assert set(import_rows()) <= words | tried


def test_all_operators_of_graphs_are_written() -> None:
    written = {name for name, operator in OPERATORS.items() if operator.onnx is not None}
    assert written == set(OPERATORS) - {"input", "weight", "noop"}
