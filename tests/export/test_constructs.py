"""Every construct that the front end accepts is exported."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from polygym.export.writing import ExportKind
from polygym.frontend.c import parse_text
from polygym.mapping.mapping import parse_mapping
from tests.export.against_source import check_like_source

_TABLE = Path(__file__).parents[2] / "docs" / "site" / "c_constructs.toml"
_ROWS = [
    row
    for row in tomllib.loads(_TABLE.read_text())["construct"]
    if row["status"] == "accepted" and "file" not in row  # C++ has tests of its own
]
# Where data decide on subscripts, some sizes have data that leave the array.
_SIZES = {"Element under a condition on data": (24,)}


@pytest.mark.rotates
@pytest.mark.parametrize("row", _ROWS, ids=lambda row: row["name"])
def test_a_construct_is_exported(row: dict[str, str], tmp_path: Path) -> None:
    scop = parse_text(row["example"], file="program.c")
    names = [parameter.name for parameter in scop.parameters]
    sizes = [{name: size for name in names} for size in _SIZES.get(row["name"], (24, 8, 33))]
    if "s == 4" in row["example"]:
        sizes = [own | {"s": 4} for own in sizes]
    check_like_source(tmp_path, row["example"], *sizes)


def test_calls_of_loops_stay(tmp_path: Path) -> None:
    """A function that only writes through a pointer is called, whatever gcc 12 makes of it."""
    text = """
void f(int n, long *b, const char *a) {
  for (int i = 1; i < n; i++) b[3 * i + 1] = a[24 * (n - 1 - i) + 1] + a[24 * i - 23];
}"""
    mapping = parse_mapping("tile=4 threads=2")
    check_like_source(tmp_path, text, {"n": 21}, {"n": 8}, kind=ExportKind.C, mapping=mapping)
