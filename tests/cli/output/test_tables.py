"""Tables on terminals of all widths, and colours only where they are wanted."""

import sys

import click
import pytest

from polygym.cli.output.bench_table import BenchEntry, print_entries
from polygym.cli.output.console import print_table, write_text
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.runtime.worker.outcome import Ok

COLUMNS = ("NAME", "COUNT", "DESCRIPTION")
ROWS = [("first", 1, "some words " * 5), ("\x1b[31msecond", 20, "others")]


def be_a_terminal(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


def table(capsys: pytest.CaptureFixture[str], *optional: str) -> str:
    print_table(COLUMNS, ROWS, "lrl", optional=optional)
    return click.unstyle(capsys.readouterr().out)


def test_a_wide_terminal_has_room_for_all(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    be_a_terminal(monkeypatch, 100)
    text = table(capsys, "DESCRIPTION")
    assert "some words some words some words some words some words" in text
    assert "─" in text
    assert "\\x1b[31msecond" in text


def test_a_narrow_one_drops_what_is_optional_and_folds_the_rest(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    be_a_terminal(monkeypatch, 50)
    assert "DESCRIPTION" not in table(capsys, "DESCRIPTION")
    text = table(capsys)
    assert text.count("some") == 5
    assert max(map(len, text.splitlines())) <= 50
    assert "…" not in text


def test_where_nothing_fits_a_row_is_a_list_of_its_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    be_a_terminal(monkeypatch, 20)
    text = table(capsys)
    assert "─" not in text
    assert "…" not in text
    assert [line.split()[0] for line in text.splitlines() if line.startswith("  ")][
        : len(COLUMNS) - 1
    ] == list(COLUMNS[1:])


def test_lines_of_a_narrow_bench_name_their_schedules(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    be_a_terminal(monkeypatch, 40)
    seconds = {"original": 771e-9, "isl": 511e-9, "gcc": 2267e-9}
    row = [
        BenchEntry(
            "mvt", name, name, Ok((time,)), "", None if name == "original" else 771e-9 / time
        )
        for name, time in seconds.items()
    ]
    means = {"original": None, "isl": 1.51, "gcc": 0.34}
    print_entries([row], list(seconds), means, DEFAULT_MAPPING)
    lines = [line.split() for line in click.unstyle(capsys.readouterr().out).splitlines()]
    assert lines[:7] == [
        ["mvt"],
        ["original", "771", "ns"],
        ["isl", "511", "ns", "1.51x"],
        ["gcc", "2.27", "µs", "0.34x"],
        ["geometric", "mean"],
        ["isl", "1.51x"],
        ["gcc", "0.34x"],
    ]


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_no_colours_where_they_are_not_wanted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    be_a_terminal(monkeypatch, 80)
    write_text("text", fg="red")
    assert "\x1b[31m" in capsys.readouterr().out
    monkeypatch.setenv(name, value)
    write_text("text", fg="red")
    print_table(COLUMNS, ROWS)
    assert "\x1b" not in capsys.readouterr().out
