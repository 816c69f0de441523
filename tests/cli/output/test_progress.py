"""What is shown in a log while work is done: how far it is, and how the nodes of a cluster are."""

import pytest

from polygym.cli.output import progress


@pytest.mark.parametrize("nodes", ["", "2 nodes: 1 busy, 1 lost"])
def test_the_state_of_nodes_stands_beside_how_far_it_is(
    nodes: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.0)
    end = f", {nodes}" if nodes else ""
    with progress.tuning_progress("mvt", 40, [], lambda: nodes) as show:
        show()
    assert capsys.readouterr().err == f"mvt: 0 of 40 candidates tried, best -{end}\n"
    with progress.collection_progress("a.sqlite", 9, 3, [], lambda: nodes) as show:
        show()
    assert capsys.readouterr().err == f"a.sqlite: 3 of 9 rows, {nodes}\n"
