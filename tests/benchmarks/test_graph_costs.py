"""The benchmark of graph costs: variants are different and equal, rows are gone on with."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from polygym.graphs.ir.graph import random_inputs, random_weights, signature_of
from polygym.graphs.ir.reference import evaluate
from tests.benchmarks.folder_commands import BENCHMARKS

FOLDER = BENCHMARKS / "graph_costs"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(FOLDER), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_variants_are_different_and_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    from networks import NETWORKS
    from variants import graph_variants

    graph = NETWORKS["layers"]()
    variants = graph_variants(graph, 5, seed=0)
    assert len({variant.root for variant in variants}) == 5
    assert variants[0] == graph
    assert graph_variants(graph, 5, seed=0) == variants
    values = random_weights(graph) | {
        signature_of(node).name: array
        for node, array in zip(graph.inputs, random_inputs(graph), strict=True)
    }
    results = [evaluate([variant.outputs[0][1]], values)[0] for variant in variants]
    for result in results:
        np.testing.assert_allclose(result, results[0], rtol=1e-4, atol=1e-4)


def test_rows_are_kept_and_reported(tmp_path: Path) -> None:
    out = tmp_path / "rows.csv"
    model = tmp_path / "model.txt"
    lines = ["graph small", "%0 = input x@4-8", "%1 = weight w@8-8", "%2 = weight v@8-8"]
    lines += ["%3 = matmul none %0 %1", "%4 = matmul none %0 %2", "%5 = ewadd %3 %4"]
    model.write_text("\n".join([*lines, 'output "y" %5', ""]))
    ask = ("--out", str(out), "--variants", "3", "--seconds", "0.05", str(model))
    done = run(*ask)
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert 1 < len(rows) <= 3
    for row in rows:
        assert float(row["microseconds"]) > 0
        assert float(row["plan"]) > 0
    assert run(*ask).stderr == ""  # nothing is missing
    assert f"| all | {len(rows)} |" in run("--out", str(out), "--report").stdout
