"""What is shown in a log while work is done: how far it is, and how the nodes of a cluster are."""

from pathlib import Path

import pytest

from polygym.cli.output import progress
from polygym.search.result import SearchStage
from tests.search.fakes import begin_fake


@pytest.mark.parametrize("nodes", ["", "2 nodes: 1 busy, 1 lost"])
def test_the_state_of_nodes_stands_beside_how_far_it_is(
    tmp_path: Path, nodes: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.0)
    end = f", {nodes}" if nodes else ""
    with progress.search_progress(begin_fake(tmp_path), SearchStage.SEARCH, lambda: nodes) as show:
        show()
    assert capsys.readouterr().err == f"mvt: 0 of 100 explored, best -, 0 failed{end}\n"
    with progress.collection_progress("a.sqlite", 9, 3, [], lambda: nodes) as show:
        show()
    assert capsys.readouterr().err == f"a.sqlite: 3 of 9 rows, {nodes}\n"
