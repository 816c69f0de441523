"""Regions are found where pragmas stood, and are the same regions when they are read again."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from polygym.errors import InputError, SourceError
from polygym.frontend.c import parse_text, read_text, region_names
from polygym.frontend.c.discovery.found_regions import FileRegions
from polygym.frontend.c.discovery.region_search import find_in_text, functions_of_text
from polygym.frontend.c.embedding import embed_region
from polygym.frontend.c.source.compile_flags import CompileFlags
from polygym.frontend.c.source.region_selection import RegionSelection
from polygym.ir.scop import Scop

ROOT = Path(__file__).parents[4]
FOLDERS = ("polybench/kernels", "benchmarks/unseen_programs", "tests/frontend/c/cases")
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.c"))
PRAGMA = re.compile(r"(?m)^[ \t]*#[ \t]*pragma[ \t]+(?:end)?scop[ \t]*$")


def marked_scops(text: str, file: str) -> list[Scop]:
    """Return the regions between pragmas, those that are understood."""
    try:
        names = region_names(text)
    except InputError:
        return []
    result = []
    for name in names:
        try:
            result.append(parse_text(text, file=file, function=name))
        except InputError:
            continue
    return result


@cache
def found(path: Path) -> tuple[str, FileRegions]:
    """Return a file without its pragmas, lines kept, and the regions found in it."""
    text = PRAGMA.sub("", read_text(path))
    return text, find_in_text(text, str(path))


def lines_in_loops(scop: Scop) -> set[int]:
    return {statement.location.line for statement in scop.statements if statement.depth}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_region_is_found_without_its_pragmas(path: Path) -> None:
    scops = [scop for scop in marked_scops(read_text(path), str(path)) if lines_in_loops(scop)]
    if not scops:
        assert "cases" in path.parts, "every kernel and unseen program has a region"
        return  # a case that is refused, or that stands in no function, or without a loop that runs
    _, result = found(path)
    for scop in scops:
        inside = [
            region
            for region in result.regions
            if lines_in_loops(scop) <= lines_in_loops(region.scop)
        ]
        assert inside, f"{scop.name}: {[str(region.mark) for region in result.regions]}"


@pytest.mark.parametrize("path", FILES[::4], ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_region_read_by_its_place_is_the_one_found(path: Path) -> None:
    try:
        text, result = found(path)
    except SourceError:
        return
    for region in result.regions:
        choice = str(region.selection(RegionSelection()))
        again = parse_text(text, file=str(path), function=choice)
        assert again == replace(region.scop, name=again.name)


def regions_of(text: str) -> list[tuple[str, str]]:
    return [(r.name, str(r.mark)) for r in find_in_text(text, "a.c").regions]


def test_runs_end_at_what_is_refused_and_go_on_behind_it() -> None:
    text = """
void f(int n, double x[n]) {
  for (int i = 0; i < n; i++) x[i] = 0;
  for (int i = 0; i < n; i++) x[i] += 1;
  printf("x");
  for (int i = 0; i < n; i++) x[i] += 2;
  return;
}
"""
    assert regions_of(text) == [("f:1", "@3:3-4:40"), ("f:2", "@6:3-6:40")]


def test_the_body_of_a_refused_loop_is_searched() -> None:
    text = """
void f(int n, double x[n]) {
  while (g()) for (int i = 0; i < n; i++) x[i] = 0;
  if (g()) { h(); for (int i = 0; i < n; i++) x[i] = 1; }
}
"""
    result = find_in_text(text, "a.c")
    assert [str(region.mark) for region in result.regions] == ["@{3:15-3:51}", "@4:19-4:55"]
    assert (result.refused[0].place.line, result.refused[0].place.column) == (3, 3)
    assert "while loops" in result.refused[0].message


def test_a_loop_that_is_refused_says_where_and_why() -> None:
    text = "void f(int n, double x[n]) {\n  for (int i = 0; i < n; i++)\n    printf(x[i]);\n}\n"
    (refused,) = find_in_text(text, "a.c").refused
    assert (refused.loop.line, refused.place.line, refused.place.column) == (2, 3, 5)
    assert refused.message == "printf has no body here"


def test_a_declaration_that_is_needed_behind_ends_a_region() -> None:
    text = """
double f(int n, double x[n]) {
  for (int i = 0; i < n; i++) x[i] = 0;
  double s = 0;
  for (int i = 0; i < n; i++) s += x[i];
  return s;
}
"""
    result = find_in_text(text, "a.c")
    assert [str(region.mark) for region in result.regions] == ["@3:3-3:39", "@5:3-5:40"]
    assert result.regions[1].scop.array("s").live_out


@pytest.mark.parametrize(
    ("behind", "expected"),
    [
        ("return i;", ("i",)),
        ("for (i = 0; i < 3; i++) g(i); return 0;", ()),
        ("i = 4; return i;", ()),
        ("if (n) i = 4; return i;", ("i",)),
        ("return n;", ()),
        ("while (i < 9) g(i++); return 0;", ("i",)),
    ],
)
def test_counters_that_are_used_behind_are_told(behind: str, expected: tuple[str, ...]) -> None:
    text = f"int f(int n, double x[n]) {{ int i; for (i = 0; i < n; i++) x[i] = 0; {behind} }}"
    assert find_in_text(text, "a.c").regions[0].counters_used_after == expected


@pytest.mark.parametrize(
    ("declared", "behind", "expected"),
    [
        ("int i, *p = &i;", "return *p;", ("i",)),
        ("int i; g(&i);", "for (i = 0; i < 3; i++) h(); return 0;", ("i",)),
        ("static int i;", "return 0;", ("i",)),
        ("int i; struct { int i; } s; int *p = &s.i;", "return *p;", ()),
    ],
)
def test_counters_that_are_seen_by_their_addresses_are_told(
    declared: str, behind: str, expected: tuple[str, ...]
) -> None:
    text = f"int f(int n, double x[n]) {{ {declared} for (i = 0; i < n; i++) x[i] = 0; {behind} }}"
    assert find_in_text(text, "a.c").regions[0].counters_used_after == expected


def test_an_export_is_refused_for_the_same_counters() -> None:
    head = "int f(int n, double x[n]) { int i; "
    region = "\n#pragma scop\nfor (i = 0; i < n; i++) x[i] = 0;\n#pragma endscop\n"
    for before, behind in (("g(&i);", "return 0;"), ("", "return i;"), ("", "if (n) i = 1; h(i);")):
        with pytest.raises(SourceError, match="i has a value after the region"):
            embed_region(f"{head}{before}{region}{behind} }}", "a.c")
    for behind in ("i = 4; return i;", "for (i = 0; i < 3; i++) g(i); return 0;", "return n;"):
        embed_region(f"{head}{region}{behind} }}", "a.c")


def test_a_counter_of_an_outer_loop_that_comes_round_again_is_told() -> None:
    text = """
void f(int n, double x[n]) {
  int i = 0;
  while (g(i)) {
    for (i = 0; i < n; i++) x[i] = 0;
  }
}
"""
    assert find_in_text(text, "a.c").regions[0].counters_used_after == ("i",)


def test_calls_and_declarations_at_the_ends_stay_outside() -> None:
    text = """
static void init(int n, double x[n]) { for (int i = 0; i < n; i++) x[i] = i; }
void f(int n, double x[n]) {
  int i;
  init(n, x);
  for (i = 0; i < n; i++) x[i] += 1;
  init(n, x);
}
"""
    assert regions_of(text) == [("init", "@2:40-2:76"), ("f", "@6:3-6:36")]


def test_a_region_that_ends_in_a_macro_is_none() -> None:
    text = """
#define LOOP for (int i = 0; i < n; i++) { x[i] = 0; }
void f(int n, double x[n]) {
  LOOP
}
"""
    result = find_in_text(text, "a.c")
    assert not result.regions
    assert "macro" in result.refused[0].message


def test_functions_of_included_files_are_left_to_them(tmp_path: Path) -> None:
    header = "static void g(int n, double x[n]) { for (int i = 0; i < n; i++) x[i] = 1; }\n"
    (tmp_path / "g.h").write_text(header)
    text = '#include "g.h"\nvoid f(int n, double x[n]) { for (int i = 0; i < n; i++) x[i] = 0; }\n'
    result = find_in_text(text, str(tmp_path / "f.c"))
    assert [region.name for region in result.regions] == ["f"]


def test_pragmas_do_not_change_what_is_found() -> None:
    path = ROOT / "polybench/kernels/lu.c"
    with_pragmas = find_in_text(read_text(path), str(path))
    assert [str(r.mark) for r in with_pragmas.regions] == [
        str(r.mark) for r in found(path)[1].regions
    ]


@pytest.mark.parametrize("name", ["numerics/dense.c", "image/resize.c"])
def test_sizes_that_mention_further_names(name: str) -> None:
    """The members that a size mentions are new names while sizes are read."""
    suite = ROOT / "benchmarks/suite"
    headers = sorted({str(path.parent) for path in suite.rglob("*.h")})
    given = RegionSelection(None, flags=CompileFlags(tuple(headers)))
    result = find_in_text(read_text(suite / name), str(suite / name), given)
    assert result.loops > 2


def test_a_brace_that_is_never_closed_is_told() -> None:
    text = "typedef struct { int k[2]; } r;\nr d = {{1, 2};\nvoid g(double *a) { a[0] = 1; }\n"
    with pytest.raises(SourceError, match=r"expected a \} for this {, found the end"):
        functions_of_text(text, "x.c")
