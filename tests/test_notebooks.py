"""The notebooks run from the first cell to the last, and their stored outputs are complete."""

import base64
import json
import re
import shutil
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbformat
import pytest

ROOT = Path(__file__).parent.parent
NOTEBOOKS = ROOT / "notebooks"
PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))
MOST_BYTES = 1_500_000
MOST_LETTERS = 100

# Folders of one machine or user. Paths such as ../docs or /usr are the same everywhere.
OWN_FOLDER = re.compile(r"(?<![\w.])/(?:home|Users|root|tmp|var/tmp|work|mnt)/\w")


@cache
def notebook(path: Path) -> Any:
    """Return a notebook of a valid form."""
    result = nbformat.read(path, as_version=4)
    nbformat.validate(result)
    return result


def code(document: Any) -> list[Any]:
    return [cell for cell in document.cells if cell.cell_type == "code"]


def texts(document: Any) -> list[str]:
    """Return the texts of all outputs, without pictures."""
    outputs = [output for cell in code(document) for output in cell.outputs]
    shown = [output.get("data", output) for output in outputs]
    return [
        json.dumps({kind: data[kind] for kind in data if kind != "image/png"}, ensure_ascii=False)
        for data in shown
    ]


def pictures(document: Any) -> list[bytes]:
    return [
        base64.b64decode(output.data["image/png"])
        for cell in code(document)
        for output in cell.outputs
        if "image/png" in output.get("data", {})
    ]


def execute(
    *arguments: str, script: Path = NOTEBOOKS / "execute.py"
) -> subprocess.CompletedProcess[str]:
    """Run the script that executes notebooks."""
    command = [sys.executable, str(script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=280)


@pytest.mark.nightly
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_notebooks_run(path: Path, tmp_path: Path) -> None:
    before = path.read_bytes()
    done = execute(path.stem, "--out", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, ""), "a kernel that keeps running prints a warning"
    document = notebook(tmp_path / path.name)
    assert [cell.source for cell in document.cells] == [
        cell.source for cell in notebook(path).cells
    ]
    assert [cell.execution_count for cell in code(document)] == list(
        range(1, len(code(document)) + 1)
    )
    assert pictures(document)
    assert path.read_bytes() == before, "--out changes nothing here"


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_stored_outputs_are_complete(path: Path) -> None:
    document = notebook(path)
    cells = code(document)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert pictures(document)
    kinds = {output.output_type for cell in cells for output in cell.outputs}
    assert "error" not in kinds
    assert not [
        output for cell in cells for output in cell.outputs if output.get("name") == "stderr"
    ]
    for text in texts(document):
        assert "Traceback" not in text
        assert not OWN_FOLDER.search(text), text
    for cell in cells:
        assert all(len(line) <= MOST_LETTERS for line in cell.source.splitlines())


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_links_resolve(path: Path) -> None:
    texts = [cell.source for cell in notebook(path).cells if cell.cell_type == "markdown"]
    links = [link for text in texts for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)]
    assert links
    assert all((NOTEBOOKS / link).exists() for link in links if "://" not in link)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_headings_are_single_lines(path: Path) -> None:
    texts = [cell.source for cell in notebook(path).cells if cell.cell_type == "markdown"]
    assert texts[0].startswith("# ")
    for text in texts:
        for line, after in pairwise([*text.splitlines(), ""]):
            assert not (line.startswith("#") and after), line


def test_own_folders_are_found() -> None:
    assert OWN_FOLDER.search('File "/home/somebody/a.py"')
    assert OWN_FOLDER.search("/tmp/tmpk2x/shares.c")
    assert not OWN_FOLDER.search("../docs/mapping.md and a/tmp/b and -p n=1/2")


def test_the_readme_lists_every_notebook() -> None:
    assert len(PATHS) >= 4
    listed = (NOTEBOOKS / "README.md").read_text()
    assert all(f"[`{path.name}`]({path.name})" in listed for path in PATHS)


def test_notebooks_are_small() -> None:
    assert sum(path.stat().st_size for path in PATHS) < MOST_BYTES


def test_the_documentation_shows_the_first_picture() -> None:
    picture = ROOT / "docs" / "images" / "first-steps.png"
    assert picture.read_bytes() == pictures(notebook(PATHS[0]))[0]
    assert picture.stat().st_size < 150_000
    assert "](images/first-steps.png)" in (ROOT / "docs" / "index.md").read_text()


@pytest.mark.nightly
def test_a_failing_cell_keeps_the_stored_notebook(tmp_path: Path) -> None:
    script = tmp_path / "notebooks" / "execute.py"
    script.parent.mkdir()
    shutil.copy(NOTEBOOKS / "execute.py", script)
    cells = [nbformat.v4.new_code_cell(text) for text in ("print('begun')", "1 / 0", "print(2)")]
    path = script.with_name("fails.ipynb")
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    before = path.read_bytes()
    done = execute(script=script)
    assert done.returncode == 1
    assert "fails: " in done.stderr
    assert "ZeroDivisionError" in done.stderr
    assert path.read_bytes() == before
    assert sorted(entry.name for entry in script.parent.iterdir()) == ["execute.py", "fails.ipynb"]


def test_unknown_notebooks_are_refused() -> None:
    done = execute("0_none")
    assert done.returncode == 2
    assert "found 0_none" in done.stderr
