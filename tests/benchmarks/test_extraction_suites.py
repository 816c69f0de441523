"""The benchmark of extraction suites: shapes by seed, rows that go on, baselines as columns."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from polygym.rewrite.egraph.serialized import parse_egraph
from polygym.rewrite.extraction import ExtractionStatus, extract_serialized
from tests.benchmarks.folder_commands import BENCHMARKS, command

sys.path.append(str(BENCHMARKS / "extraction_suites"))
import shapes

SUITES = command("extraction_suites")


@pytest.mark.parametrize("shape", shapes.SHAPES)
def test_shapes_follow_from_seeds_and_have_terms(shape: str) -> None:
    first, again, other = (shapes.shaped_egraph(shape, 150, seed) for seed in (0, 0, 1))
    assert first == again != other
    graph = parse_egraph(first)
    greedy, best = extract_serialized(graph, 20.0)
    assert best.dag_cost <= greedy.dag_cost
    assert best.status is ExtractionStatus.OPTIMAL


def test_the_egraph_of_a_model_has_its_cycles() -> None:
    graph = parse_egraph(shapes.model_egraph("bert", 1, 2000))
    greedy, best = extract_serialized(graph, 20.0)
    assert best.status is ExtractionStatus.OPTIMAL
    assert best.dag_cost <= greedy.dag_cost == pytest.approx(42282.27, abs=0.01)


def test_a_folder_goes_on_and_baselines_are_columns(tmp_path: Path) -> None:
    folder, table = tmp_path / "suite" / "part", tmp_path / "suite.csv"
    folder.mkdir(parents=True)
    (folder / "a.json").write_text(json.dumps(shapes.shaped_egraph("sets", 100, 0)))
    (folder / "b.json").write_text("{")
    published = tmp_path / "published.csv"
    arguments = ["run", str(tmp_path / "suite"), "--out", str(table)]
    output = CliRunner().invoke(SUITES.main, arguments, catch_exceptions=False).output
    assert "| part/b | part/b: expected an e-graph as JSON" in output
    with table.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [(row["file"], row["status"]) for row in rows] == [("part/a", "optimal"), ("part/b", "")]
    assert float(rows[0]["best"]) == float(rows[0]["bound"]) <= float(rows[0]["greedy"])
    published.write_text(f"file,smoothe\na.json,{2 * float(rows[0]['best'])}\n")
    before = table.read_bytes()
    result = CliRunner().invoke(
        SUITES.main, [*arguments, "--baselines", str(published)], catch_exceptions=False
    )
    assert "smoothe / best: 2.0000 (1 files)" in result.output
    assert table.read_bytes() == before
