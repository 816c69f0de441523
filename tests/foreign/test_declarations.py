"""What cffi reads at run time is what the headers say."""

import pytest

from polygym.foreign.declarations import FOLDER, LIBRARIES, declaration_module


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_written_form_is_that_of_the_header(library: str) -> None:
    kept = (FOLDER / f"_{library}.py").read_text()
    assert kept == declaration_module(library), "run `python -m polygym.foreign.declarations`"


def test_every_header_is_written() -> None:
    assert {path.stem for path in FOLDER.glob("*.h")} == set(LIBRARIES)
