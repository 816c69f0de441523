"""Who makes the choices of `polygym optimize` where nobody is named."""

from pathlib import Path

import pytest

from polygym.search.folder import JOURNAL_FILE
from polygym.search.journal import read_journal
from tests.cli.invoke import call


def test_who_has_learned_makes_the_choices_unless_another_did_before(
    capsys: pytest.CaptureFixture[str], y_ax: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    usual = (y_ax, "-p", "n=20", "--out", str(out))
    assert call(capsys, "optimize", *usual, "--budget", "1")[0] == 0
    assert read_journal(out / JOURNAL_FILE).setting["strategy"] == "learned"
    rng = (*usual[:-1], str(out / "random"))
    assert call(capsys, "optimize", *rng, "--budget", "2", "--strategy", "uniform")[0] == 0
    code, _, err = call(capsys, "optimize", *rng, "--budget", "3", "--resume")
    assert (code, "strategy" in err) == (0, False)
    contents = read_journal(out / "random" / JOURNAL_FILE)
    assert contents.setting["strategy"] == "uniform"
    assert [line["stage"] for line in contents.episodes].count("search") == 3
    code, _, err = call(
        capsys, "optimize", *rng, "--budget", "4", "--resume", "--strategy", "earliest"
    )
    assert (code, "strategy" in err) == (2, True)
    (out / "random" / JOURNAL_FILE).write_text("[]")
    code, _, err = call(capsys, "optimize", *rng, "--budget", "4", "--resume")
    assert code == 2
    assert "Traceback" not in err
