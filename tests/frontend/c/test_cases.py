"""Whole files as people write them, against gcc: those in the folder ``cases``.

The first line of a file has its sizes, ``// n=9``, or ``// refused: `` and a part of the message.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from polygym.errors import InputError
from polygym.frontend.c import parse_file
from tests.frontend.c.against_gcc import like_gcc

FOLDER = Path(__file__).parent / "cases"
FILES = {str(path.relative_to(FOLDER)): path for path in sorted(FOLDER.glob("*/*.c"))}
REFUSED = {name: path for name, path in FILES.items() if "refused:" in path.read_text()}

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")


@needs_gcc
@pytest.mark.parametrize("name", [name for name in FILES if name not in REFUSED])
def test_it_computes_what_gcc_computes(name: str, tmp_path: Path) -> None:
    text = FILES[name].read_text()
    sizes = re.findall(r"(\w+)=(-?\d+)", text.split("\n")[0])
    like_gcc(tmp_path, text, **{size: int(value) for size, value in sizes})


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused(name: str) -> None:
    fragment = REFUSED[name].read_text().split("\n")[0].partition("refused: ")[2]
    with pytest.raises(InputError) as caught:
        parse_file(REFUSED[name])
    assert fragment in str(caught.value)
