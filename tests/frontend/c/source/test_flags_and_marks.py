"""Compile flags and places of regions travel inside the text that chooses a region."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygym.errors import InputError
from polygym.frontend.c import parse_text, with_extents
from polygym.frontend.c.source.compilation_database import flags_from_database, read_database
from polygym.frontend.c.source.compile_flags import CompileFlags, checked_flags, flags_of_arguments
from polygym.frontend.c.source.region_mark import LineMark, RegionMark, insert_pragmas
from polygym.frontend.c.source.region_selection import RegionSelection, parse_selection

paths = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), min_size=1, max_size=9).map(
    lambda text: f"/{text}"
)
names = st.from_regex(r"[A-Za-z_][A-Za-z_0-9]{0,5}", fullmatch=True)
values = st.text(st.characters(blacklist_categories=["Cs"]), max_size=9)
flags = st.builds(
    CompileFlags,
    st.lists(paths, max_size=2, unique=True).map(tuple),
    st.lists(
        st.builds("{}={}".format, names, values), max_size=2, unique_by=lambda m: m.split("=")[0]
    ).map(tuple),
)
places = st.tuples(st.integers(1, 99), st.integers(1, 99))
marks = st.one_of(
    st.none(),
    st.builds(LineMark, st.integers(0, 999)),
    st.builds(
        lambda a, b, braces: RegionMark(min(a, b), max(a, b), braces), places, places, st.booleans()
    ),
)


@given(st.none() | names, flags, marks)
def test_a_selection_is_read_as_it_was_written(
    name: str | None, given_flags: CompileFlags, mark: RegionMark | LineMark | None
) -> None:
    selection = RegionSelection(
        name, (("A", ("n + 1", "4")),), (("s", 3),), flags=given_flags, mark=mark
    )
    assert parse_selection(str(selection)) == selection


def test_flags_of_several_sources_are_joined() -> None:
    first = with_extents("f", ["A=4"], flags=CompileFlags(("/a",), ("N=1",)))
    second = with_extents(first, [], flags=CompileFlags(("/b",), ("N=2",)), line=7)
    assert second == "f A[4] -I/a -I/b -DN=2 @7"


@pytest.mark.parametrize("text", ["f @3", "f @2:1-1:1", "f @{1:1-2:2", "f @x", "@1 @2"])
def test_marks_are_checked(text: str) -> None:
    if text == "f @3":
        assert parse_selection(text).mark == LineMark(3)
    else:
        with pytest.raises(InputError):
            parse_selection(text)


def test_macros_and_folders_are_used(tmp_path: Path) -> None:
    (tmp_path / "n.h").write_text("#ifdef WIDE\n#define REAL double\n#endif\n")
    text = """#include <n.h>
void f(REAL x[N]) {
#pragma scop
  for (int i = 0; i < N; i++) x[i] = F(i);
#pragma endscop
}"""
    chosen = f"-I{tmp_path} -DWIDE -DN=12 -DF(a)=((a)%20*%202)"
    scop = parse_text(text, function=chosen)
    assert scop.array("x").type.value == "double"
    assert scop.array("x").c_extents == ("12",)
    assert "< 12" in scop.statements[0].domain or "<= 11" in scop.statements[0].domain


def test_a_folder_that_is_gone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected the folder of headers"):
        parse_text("void f(void) { }", function=f"-I{tmp_path}/gone")
    with pytest.raises(InputError, match="expected a folder"):
        checked_flags([tmp_path / "gone"])
    with pytest.raises(InputError, match="expected NAME or NAME=VALUE"):
        checked_flags(macros=["3x=2"])


@pytest.mark.parametrize(
    ("arguments", "folders", "macros"),
    [
        (["-isystem", "/s", "-I", "x", "-DA", "a.c"], ("/s", "/p/x"), ("A",)),
        (["-DA=1", "-DA=2", "-UB", "-D", "B=3"], (), ("A=2", "B=3")),
        (["-I"], (), ()),
        (["-O3", "-Wall", "-o", "x.o"], (), ()),
    ],
)
def test_arguments_of_compilers(
    arguments: list[str], folders: tuple[str, ...], macros: tuple[str, ...]
) -> None:
    assert flags_of_arguments(arguments, Path("/p")) == CompileFlags(folders, macros)


def test_a_compilation_database(tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "src").mkdir()
    entries = [
        {
            "directory": str(tmp_path / "src"),
            "file": "a.c",
            "command": "cc -I../inc -I../no '-DS=\"a b\"' a.c",
        },
        {"directory": str(tmp_path), "file": "src/b.c", "arguments": ["cc", "-DN=2", "src/b.c"]},
    ]
    database = tmp_path / "compile_commands.json"
    database.write_text(json.dumps(entries))
    assert len(read_database(tmp_path)) == 2
    first = flags_from_database(database, str(tmp_path / "src" / "a.c"))
    assert first == CompileFlags((str(tmp_path / "inc"),), ('S="a b"',))
    assert flags_from_database(database, str(tmp_path / "src/b.c")).macros == ("N=2",)
    with pytest.raises(InputError, match=r"expected a command for c\.c, found those of 2"):
        flags_from_database(database, "c.c")


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[1]", '[{"file": 3}]', "[" * 100_000, '[{"file": "a.c", "command": "cc \'"}]'],
)
def test_what_is_no_database_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "compile_commands.json").write_text(text)
    with pytest.raises(InputError):
        read_database(tmp_path)


def test_a_region_that_the_file_has_no_more_is_refused() -> None:
    with pytest.raises(InputError, match="the file has changed"):
        insert_pragmas("a;\nb;", RegionMark((1, 1), (9, 1)), (1, 2))
    with pytest.raises(InputError, match="have changed"):
        parse_text("void f(void) {\n}\n", function="f @1:30-2:1")


REAL_C = """
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/types.h>
typedef unsigned int uint;
static pthread_mutex_t lock;
static jmp_buf place;
static void say(const char *text, ...) {
  va_list list;
  va_start(list, text);
  off_t value = va_arg(list, off_t);
  printf("%" PRId64 " %" PRIuMAX "\\n", (int64_t)value, (uintmax_t)value);
  __asm__ volatile("" ::: "memory");
  asm("nop");
}
int name(void) __asm__("other");
void f(int n, double x[n]) {
#pragma scop
  for (int i = 0; i < n; i++) x[i] = 0;
#pragma endscop
}
"""


def test_types_and_macros_of_system_headers() -> None:
    assert parse_text(REAL_C).depth == 1


def test_assembly_in_a_region_is_refused() -> None:
    text = REAL_C.replace("x[i] = 0;", '{ x[i] = 0; asm("nop"); }')
    with pytest.raises(InputError, match="asm_statement has no body here"):
        parse_text(text)
