"""What was read is remembered as long as it would be read the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import polybench
from polygym.errors import SourceError
from polygym.frontend.c import parse_file, parse_text, region_names
from polygym.frontend.c.source import parser, preprocessor
from polygym.frontend.c.source.compile_flags import NO_FLAGS, CompileFlags
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.parser import parse_cached, preprocess_cached
from polygym.programs import load_program

HEADER = "#define SIZE {size}\n"
PROGRAM = """
#include "size.h"
void f(double A[SIZE]) {
#pragma scop
  for (int i = 0; i < SIZE; i++)
    A[i] = 0;
#pragma endscop
}
"""
BARE = """
#pragma scop
for (i = 0; i < n; i++)
  A[i] = B[i];
#pragma endscop
"""


@pytest.fixture(autouse=True)
def _nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    parser._cached_texts.clear()
    yield
    parser._cached_texts.clear()


@pytest.fixture
def preprocessed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the names of the files that are preprocessed."""
    result: list[str] = []
    real = preprocessor.preprocess

    def counted(text: str, file: str, flags: CompileFlags = NO_FLAGS) -> object:
        result.append(Path(file).name)
        return real(text, file, flags)

    monkeypatch.setattr(parser, "preprocess", counted)
    return result


def size_of(path: Path) -> str:
    return parse_file(path).arrays[0].c_extents[0]


def written(folder: Path, size: int = 4) -> Path:
    (folder / "size.h").write_text(HEADER.format(size=size))
    path = folder / "f.c"
    path.write_text(PROGRAM)
    return path


def test_a_load_preprocesses_its_file_once(preprocessed: list[str]) -> None:
    load_program("gemm")
    assert preprocessed == ["gemm.c"]
    load_program("gemm", dataset=polybench.Dataset.MINI)
    assert preprocessed == ["gemm.c"]


@pytest.mark.rotates
@pytest.mark.parametrize("name", [kernel.name for kernel in polybench.KERNELS])
def test_it_is_what_is_read_without(name: str) -> None:
    """One region after the other, each twice, against one alone."""
    path = polybench.kernel(name).path
    names = region_names(path)
    scops = [[parse_file(path, function=name) for name in names] for _ in range(2)]
    alone = []
    for region in names:
        parser._cached_texts.clear()
        alone.append(parse_file(path, function=region))
    assert scops == [alone, alone]


def test_a_header_that_was_edited_is_read_again(tmp_path: Path, preprocessed: list[str]) -> None:
    path = written(tmp_path)
    assert [size_of(path), size_of(path)] == ["4", "4"]
    assert preprocessed == ["f.c"]
    written(tmp_path, 9)
    assert [size_of(path), size_of(path)] == ["9", "9"]
    assert preprocessed == ["f.c", "f.c"]
    (tmp_path / "size.h").unlink()
    with pytest.raises(SourceError, match=r"size\.h"):
        size_of(path)


def test_a_header_that_comes_before_another_one_counts(tmp_path: Path) -> None:
    """It was looked for there, too, and was not there."""
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    for folder in (inner, outer):
        folder.mkdir()
    written(outer, 7)

    def found() -> str:
        scop = parse_text(
            PROGRAM.replace('"size.h"', "<size.h>"), include_directories=[inner, outer]
        )
        return scop.arrays[0].c_extents[0]

    assert found() == "7"
    written(inner, 3)
    assert found() == "3"


def test_files_are_looked_for_from_where_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for size in (2, 5):
        folder = tmp_path / str(size)
        folder.mkdir()
        written(folder, size)
        monkeypatch.chdir(folder)
        assert size_of(Path("f.c")) == str(size)


def test_a_tree_is_of_who_asked_for_it() -> None:
    source = preprocess_cached(PROGRAM.replace('#include "size.h"', HEADER.format(size=4)), "f.c")
    trees = [parse_cached(source) for _ in range(3)]
    for tree in trees:
        assert len(tree.ext) == 1
        tree.ext.clear()


def test_names_and_libraries_belong_to_who_gave_them(preprocessed: list[str]) -> None:
    text = PROGRAM.replace('#include "size.h"', HEADER.format(size=4))
    assert [parse_text(text, file=file).file for file in ("a.c", "b.c", "a.c")] == [
        "a.c",
        "b.c",
        "a.c",
    ]
    assert preprocessed == ["a.c", "b.c"]
    source = preprocess_cached(text, "a.c")
    assert source.with_library(("/lib.so", "0")).library == ("/lib.so", "0")
    assert source.library is None


def test_sizes_that_are_given_are_not_forgotten() -> None:
    text = "void f(int n, double *x) {\n#pragma scop\nx[n % 7] = 0;\n#pragma endscop\n}"
    sizes = [parse_text(text, function=f"f x[{size}]").arrays[0].c_extents for size in (7, 8, 7)]
    assert sizes == [("7",), ("8",), ("7",)]
    scops = [
        parse_text(BARE, file="f.c", function=literal) for literal in ("A[n + 1]", None, "A[n + 1]")
    ]
    assert [scop.arrays[0].c_extents for scop in scops] == [("n + 1",), ("n",), ("n + 1",)]
    assert scops[0] == scops[2]


def test_a_refusal_is_said_again() -> None:
    text = PROGRAM.replace('#include "size.h"', HEADER.format(size=4)).replace("= 0", "= g(i)")
    said = []
    for _ in range(2):
        with pytest.raises(SourceError) as error:
            parse_text(text, file="f.c")
        said.append(str(error.value))
    assert said[0] == said[1]


def test_texts_that_are_long_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "_MAX_TOKENS", 100)
    text = PROGRAM.replace('#include "size.h"', HEADER.format(size=4))
    sources: list[SourceMap] = [preprocess_cached(text, f"{number}.c") for number in range(5)]
    assert len(sources[0].tokens) > 25
    assert 1 <= len(parser._cached_texts) <= 3
    parse_text(text + "int a;" * 100, file="long.c")
    assert not parser._cached_texts
