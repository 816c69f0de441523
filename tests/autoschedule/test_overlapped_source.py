"""The source's passes in overlapped tiles: where there are such tiles, and how many rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygym.autoschedule.overlapped_source import overlapped_sources
from polygym.ir.scop import PRIVATE_STORAGE_CLASSES
from polygym.mapping.mapping import Mapping
from polygym.poly.transform.storage.memory_cost import DEFAULT_MEMORY_LIMIT
from polygym.programs import load_program

TEXT = """void f(int n, float a[n][M], float c[n][M]) {
  float b[n][M];
#pragma scop
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < M - 1; j++)
      b[i][j] = a[i - 1][j] + a[i][j - 1] + a[i][j + 1] + a[i + 1][j];
  for (int i = 2; i < n - 2; i++)
    for (int j = 1; j < M - 1; j++)
      c[i][j] = b[i - 1][j] - b[i + 1][j];
#pragma endscop
}
"""


@pytest.mark.parametrize(
    ("width", "rows", "tile"),
    [(1000, 2000, 64), (3000, 2000, 32), (1000, 300, 32), (1000, 60, None), (40_000, 2000, None)],
)
def test_rows_of_a_tile(tmp_path: Path, width: int, rows: int, tile: int | None) -> None:
    file = tmp_path / "f.c"
    file.write_text(TEXT.replace("M", str(width)))
    program = load_program(str(file), parameters={"n": rows})
    sources = list(overlapped_sources(program, Mapping(threads=2), DEFAULT_MEMORY_LIMIT))
    tiles = [stored.storage.overlapped_tile for stored, _ in sources]
    assert tiles == ([] if tile is None else [tile, tile])
    for stored, mapping in sources:
        assert mapping.threads == 2
        (new,) = [a for a in stored.scop.arrays if a.storage_class in PRIVATE_STORAGE_CLASSES]
        assert new.name == "b_1"
