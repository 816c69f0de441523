"""Tables on terminals of all widths, and colours only where they are wanted."""

import sys

import click
import pytest

from polygym.cli.output.console import print_table, write_text

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
