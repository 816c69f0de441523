"""The thirty kernels and the unseen programs, exported, do what their sources do."""

from __future__ import annotations

from pathlib import Path

import pytest

from polybench import KERNELS, Dataset
from polygym.export.writing import ExportKind
from polygym.mapping.mapping import parse_mapping
from polygym.programs import load_program
from tests.export.against_source import check_like_source

_UNSEEN = Path(__file__).parents[2] / "benchmarks" / "unseen_programs"
_MAPPINGS = (parse_mapping("threads=2"), parse_mapping("threads=2 vector_bits=128 tile=8"))


def _check(
    text: str, function: str | None, sizes: dict[str, int], folder: Path, number: int
) -> None:
    """Compare a program at sizes, at larger and at smaller ones."""
    others = [{name: max(value + by, 1) for name, value in sizes.items()} for by in (1, -1, 7)]
    for kind in (ExportKind.OBJECT, ExportKind.C):
        own = folder / kind.value
        own.mkdir()
        check_like_source(
            own,
            text,
            sizes,
            *others,
            kind=kind,
            function=function,
            mapping=_MAPPINGS[number % len(_MAPPINGS)],
        )


@pytest.mark.rotates
@pytest.mark.parametrize("number", range(len(KERNELS)), ids=lambda k: KERNELS[k].name)
def test_a_kernel(number: int, tmp_path: Path) -> None:
    kernel = KERNELS[number]
    sizes = dict(load_program(kernel.name, dataset=Dataset.MINI).parameters)
    _check(kernel.path.read_text(), kernel.function, sizes, tmp_path, number)


@pytest.mark.rotates
@pytest.mark.parametrize("path", sorted(_UNSEEN.glob("*.c")), ids=lambda path: path.stem)
def test_an_unseen_program(path: Path, tmp_path: Path) -> None:
    sizes = dict(load_program(str(path), dataset=Dataset.MINI).parameters)
    _check(path.read_text(), None, sizes, tmp_path, len(path.stem))
