"""The picture of random programs, and what the document says beside it."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

from polygym.programs import load_program
from polygym.programs.generate import source_of_name

ROOT = Path(__file__).parents[2]
STORED = ROOT / "docs" / "images" / "random-programs.svg"
STORED_SCALARS = ROOT / "docs" / "images" / "random-programs-scalars.svg"
DOCUMENT = ROOT / "docs" / "guides" / "random-programs.md"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the script, which here compares with few programs."""
    where = ROOT / "docs" / "site" / "random_programs.py"
    spec = importlib.util.spec_from_file_location("random_programs", where)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "random_programs", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "KERNELS", ("mvt", "trisolv"))
    monkeypatch.setattr(module, "COMPREHENSIONS", ("tc:matmul",))
    return module


def letters(picture: Path) -> list[str]:
    root = ElementTree.parse(picture).getroot()
    return [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]


def test_a_small_picture(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script.main(["--count", "3", "--seed", "7", "--out", str(tmp_path / "a.svg")])
    said = capsys.readouterr()
    assert "random programs: 3 of 3" in said.err
    assert "kernels of the suite: 2 of 2" in said.err
    row = next(line for line in said.out.splitlines() if "triangular bound" in line)
    assert row.split()[-2:] == ["50.0", "0.0"], "trisolv is triangular, mvt and matmul are not"
    texts = letters(tmp_path / "a.svg")
    assert {"3 random programs", "2 kernels of the suite", "1 comprehensions"} <= set(texts)
    script.main(["--count", "3", "--seed", "7", "--out", str(tmp_path / "b.svg")])
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_small_picture_of_those_with_scalars(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script.main(["--kind", "scalars", "--count", "3", "--out", str(tmp_path / "a.svg")])
    rows = capsys.readouterr().out.splitlines()
    none, *_ = (line.split() for line in rows if line.startswith("Scalars that are written"))
    assert none[-2:] == ["100.0", "100.0"], "mvt, trisolv and matmul have none"
    assert float(none[-3]) < 100
    assert {"3 programs with scalars", "array of its own"} <= set(letters(tmp_path / "a.svg"))


def test_seeds_choose_programs(script: ModuleType) -> None:
    first, again, other = (script.random_names(50, seed) for seed in (0, 0, 1))
    assert first == again
    assert not set(first) & set(other)
    assert script.random_names(20, 0) == first[:20]


def test_what_cannot_be_read_is_said(
    script: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(script.program_shapes(["mvt", "random:x"], "these")) == 1
    assert (
        "random:x is left out: random:x: expected random: and a number" in capsys.readouterr().err
    )


@pytest.mark.parametrize("arguments", [["--count", "0"], ["--seed", "-1"]])
def test_what_is_refused(
    script: ModuleType, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        script.main(arguments)
    assert "expected --count from 1 on and --seed from 0 on" in capsys.readouterr().err


def test_the_stored_picture_is_the_script_s(script: ModuleType) -> None:
    panels = script.panels_of([script.program_shapes(["mvt"], "one")] * 3)
    texts = letters(STORED)
    for panel in panels:
        assert {panel.title, *panel.labels} <= set(texts)
    assert "1,000 random programs" in texts
    assert STORED.stat().st_size < 60_000


def test_the_stored_picture_of_those_with_scalars_is_the_script_s(script: ModuleType) -> None:
    panels = script.panels_of([script.program_shapes(["mvt"], "one")] * 3, "scalars:")
    texts = letters(STORED_SCALARS)
    for panel in panels:
        assert {panel.title, *panel.labels} <= set(texts)
    assert "1,000 programs with scalars" in texts
    assert STORED_SCALARS.stat().st_size < 60_000


def test_the_document_shows_programs_as_they_are() -> None:
    """Each block begins with the name of a program, and is its region."""
    section = DOCUMENT.read_text()
    blocks = re.findall(r"// ((?:random|scalars):\d+)\n(.*?)(?=\n// |\n```)", section, re.DOTALL)
    assert len(blocks) >= 3
    assert {name.partition(":")[0] for name, _ in blocks} == {"random", "scalars"}
    for name, block in blocks:
        lines = source_of_name(name).splitlines()
        region = lines[lines.index("#pragma scop") + 1 : lines.index("#pragma endscop")]
        assert block.strip("\n").splitlines() == [line.removeprefix("  ") for line in region]
        assert load_program(name).scop.statements
