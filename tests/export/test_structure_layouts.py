"""Arrays of structures keep the program's layout in exported code: nothing is copied."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import polygym
from polygym.errors import InputError
from polygym.export.applying import ApplyKind, apply_export
from polygym.export.exporting import Export, ExportOptions, prepare_export
from polygym.export.structured_arrays import member_place
from polygym.export.writing import ExportKind, write_export
from polygym.mapping.mapping import DEFAULT_MAPPING, parse_mapping
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.programs import load_program
from tests.export.against_source import GCC, SANITIZERS, check_like_source

TYPES = """
typedef struct { float r, g, b; } pixel;
typedef struct { char tag; short kind; double x, v[3]; _Bool on; } body;
struct cell { int id; struct { double a; float w[2]; } part[3]; unsigned char last; };
struct grid { int n; body cells[70]; double scale; };
"""

PROGRAMS = {
    "pixels": """
void f(int n, pixel *p) {
  for (int i = 0; i < n; i++) {
    float y = 0.25f * p[i].r + 0.5f * p[i].g + 0.25f * p[i].b;
    p[i].r = y; p[i].g = y + p[i].g; p[i].b = p[i].b - y;
  }
}""",
    "an image in rows": """
void f(int n, pixel p[n][2 * n], pixel *q) {
  for (int i = 1; i < n; i++)
    for (int j = 0; j < n; j++) {
      q[i * n + j].g = p[i - 1][2 * j].r + p[i][j].b;
      p[i][j].g = p[i][j].r;
    }
}""",
    "padding, several types": """
void f(int n, body *b) {
  for (int i = 1; i < n; i++) {
    b[i].x += b[i - 1].v[2] + b[i].tag;
    b[i].kind += b[n - i].tag;
    b[i].on = b[i].v[0] > 0;
    for (int k = 0; k < 3; k++) b[i].v[k] += b[i].on ? b[i - 1].v[k] : b[i].x;
  }
}""",
    "structures in structures": """
void f(int n, struct cell *c) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < 3; j++) {
      c[i].part[j].a = c[n - 1 - i].part[j].w[1] + c[i].id;
      c[i].part[2 - j].w[0] += c[i].part[j].a + c[i].last;
      c[i].last += j;
    }
}""",
    "a member of one structure": """
void f(struct grid *g, double *a) {
  int n = g->n;
  assert(n <= 70);
  for (int i = 0; i < n; i++) {
    g->cells[i].x = g->scale * a[i];
    g->cells[i].v[1] += g->cells[n - 1 - i].x;
  }
}""",
    "all members copied": """
void f(int n, body *b, body *c, int m) {
  for (int i = 0; i < n; i++) b[i] = c[n - 1 - i];
  for (int i = 0; i < n; i++) c[i].x += b[i].x;
}""",
    "a subscript that is computed": """
struct link { int next; double w; };
void f(int n, struct link *p, const int *to, double *a) {
  for (int i = 0; i < n; i++) a[i] += p[to[i]].w * p[i].w;
}""",
    "given to functions around": """
static double weight(const body *b, int n) {
  double s = 0;
  for (int i = 0; i < n; i++) s += b[i].x + b[i].v[1];
  return s;
}
double f(int n, body *b) {
  double before = weight(b, n);
#pragma scop
  for (int i = 1; i < n; i++) b[i].x = b[i - 1].x + b[i].v[1];
#pragma endscop
  return before - weight(b, n);
}""",
    "in rows of their own": """
void f(int n, pixel **p) {
  for (int i = 0; i < n; i++)
    for (int j = 1; j < n; j++) p[i][j].r = p[i][j].g + p[i][j - 1].b;
}""",
}


@pytest.mark.rotates
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("kind", [ExportKind.OBJECT, ExportKind.C])
def test_the_layout_stays(name: str, kind: ExportKind, tmp_path: Path) -> None:
    has_size = "int n," in PROGRAMS[name]
    sizes = [{"n": 33}, {"n": 34}, {"n": 2}] if has_size else [{}]
    export = check_like_source(tmp_path, TYPES + PROGRAMS[name], *sizes, kind=kind)
    assert any(array.structure is not None for array in export.plan.arrays)
    if kind is ExportKind.C:
        _expect_kernel_to_run(export, tmp_path)


def _expect_kernel_to_run(export: Export, folder: Path) -> None:
    """Call the exported function at the first sizes, the loops of the source made a failure."""
    embedding, file = export.embedding, folder / "out" / "f.c"
    assert embedding is not None
    source = embedding.text[embedding.first : embedding.last].strip("\n")
    text = file.read_text()
    assert text.count(source) == 1
    file.write_text(text.replace(source, "__builtin_abort();"))
    command = ["gcc", "-O1", "-w", "-fopenmp", "driver0.c", "out/f.c", "-lm", "-o", "fast"]
    subprocess.run(command, check=True, cwd=folder)
    subprocess.run([folder / "fast"], check=True, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize("name", ["padding, several types", "structures in structures"])
@pytest.mark.parametrize("mapping", ["vector_bits=256 unroll_jam=2", "tile=8x8 threads=2"])
def test_under_other_mappings(name: str, mapping: str, tmp_path: Path) -> None:
    sizes = [{"n": 33}, {"n": 40}]
    check_like_source(tmp_path, TYPES + PROGRAMS[name], *sizes, mapping=parse_mapping(mapping))


_CALLS = """
int main(void) {
  static struct pair p[40];
  for (int i = 0; i < 40; i++) { p[i].x = i; p[i].y = 2 * i; }
  f(36, p, p + %d);
  for (int i = 0; i < 40; i++) printf("%%g %%g\\n", p[i].x, p[i].y);
}
"""
_SHIFTED = """
#include <stdio.h>
struct %s pair { char c; double x, y; };
void f(int n, struct pair *p, struct pair *q) {
  for (int i = 1; i < n; i++) p[i].x = q[i - 1].x + q[i].y;
}
"""


@pytest.mark.parametrize("attribute", ["", "__attribute__((packed))"])
@pytest.mark.parametrize("distance", [1, 0])
def test_pointers_and_layouts_that_are_not_as_assumed(
    attribute: str, distance: int, tmp_path: Path
) -> None:
    source = tmp_path / "pairs.c"
    source.write_text(_SHIFTED % attribute + _CALLS % distance)
    program = load_program(str(source), function="f", parameters={"n": 36})
    export = prepare_export(
        program, isl_schedule(program.scop), DEFAULT_MAPPING, ExportOptions(sizes=((("n", 36),),))
    )
    files = apply_export(export, ApplyKind.C, tmp_path / "new")
    built = [_output(tmp_path, [source]), _output(tmp_path, [f for f in files if f.suffix == ".c"])]
    assert built[0] == built[1]


def _output(folder: Path, sources: list[Path]) -> str:
    program = folder / f"program{len(sources)}"
    command = ["gcc", "-O1", "-g", "-w", "-ffp-contract=off", *SANITIZERS, "-fopenmp"]
    subprocess.run([*command, *map(str, sources), "-lm", "-o", str(program)], check=True)
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


_FIRST = """
#include <stdio.h>
struct item { int count, value; };
void f(struct item *p) {
  for (int i = 0; i < p->count; i++) p[i].value += 2;
}
int main(void) {
  struct item p[30] = {{30, 4}, {1, 2}};
  f(p);
  for (int i = 0; i < 30; i++) printf("%d %d\\n", p[i].count, p[i].value);
}
"""


def test_a_size_in_the_first_structure(tmp_path: Path) -> None:
    source = tmp_path / "items.c"
    source.write_text(_FIRST)
    program = load_program(str(source), function="f")
    options = ExportOptions(sizes=(program.parameters,))
    export = prepare_export(program, isl_schedule(program.scop), DEFAULT_MAPPING, options)
    apply_export(export, ApplyKind.C, tmp_path / "new")
    changed = tmp_path / "new" / "items.c"
    text = changed.read_text().replace("p[i].value += 2;", "abort();")
    changed.write_text(f"void abort(void);\n{text}")
    new = _output(tmp_path, [changed, tmp_path / "new" / "f_kernel.c"])
    assert new == _output(tmp_path, [source])


_HEADER = """
#ifndef BODIES_H
#define BODIES_H
enum { COUNT = 50 };
typedef struct { int id; double at[3], mass; char mark; } body;
void push(int n, body *b, double dt);
double energy(const body *b, int n);
#endif
"""
_PUSH = """
#include "bodies.h"
void push(int n, body *b, double dt) {
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < 3; k++) b[i].at[k] += dt * b[n - 1 - i].mass;
    b[i].id += b[i].mark;
  }
}
"""
_MAIN = """
#include <stdio.h>
#include "bodies.h"
static body bodies[COUNT];
double energy(const body *b, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += b[i].mass * b[i].at[1] + b[i].id;
  return sum;
}
int main(void) {
  for (int i = 0; i < COUNT; i++)
    bodies[i] = (body){i, {i, 2.0 * i, 0.5}, 1.0 + i % 7, (char)(i % 5)};
  for (int step = 0; step < 3; step++) push(COUNT, bodies, 0.25);
  printf("%.17g\\n", energy(bodies, COUNT));
}
"""


@pytest.mark.parametrize("kind", ApplyKind)
def test_a_project_of_two_files(kind: ApplyKind, tmp_path: Path) -> None:
    texts = {"bodies.h": _HEADER, "push.c": _PUSH, "main.c": _MAIN}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    program = load_program(str(tmp_path / "push.c"), parameters={"n": 50})
    export = prepare_export(
        program, isl_schedule(program.scop), DEFAULT_MAPPING, ExportOptions(sizes=((("n", 50),),))
    )
    files = apply_export(export, kind, tmp_path / "new")
    sources = [file for file in files if file.suffix in (".c", ".o")]
    expected = _output(tmp_path, [tmp_path / "push.c", tmp_path / "main.c"])
    assert _output(tmp_path, [*sources, tmp_path / "main.c"]) == expected


_MOVE = """
typedef struct { char tag; int id; struct { double x, y; } at; double w[3]; } body;
void f(int n, body *b, const double *a) {
  for (int i = 0; i < n; i++) { b[i].at.y += b[i].w[2] * a[i]; b[i].id -= b[n - 1 - i].tag; }
}
"""
_FIELDS = [("tag", "i1"), ("id", "i4"), ("at", [("x", "f8"), ("y", "f8")]), ("w", "f8", 3)]


def test_structured_arrays(tmp_path: Path) -> None:
    source = tmp_path / "move.c"
    source.write_text(_MOVE)
    function = polygym.compile(str(source), schedule="original")
    assert function.arguments == ("n", "b", "a")
    bodies = np.zeros(9, np.dtype(_FIELDS, align=True))
    bodies["w"], bodies["tag"], a = np.arange(27).reshape(9, 3), np.arange(9), np.arange(9.0)
    function(9, bodies, a)
    np.testing.assert_array_equal(bodies["at"]["y"], (2 + 3 * a) * a)
    np.testing.assert_array_equal(bodies["id"], np.arange(9) - 8)
    assert not bodies["at"]["x"].any()


def test_a_python_module(tmp_path: Path) -> None:
    source = tmp_path / "move.c"
    source.write_text(_MOVE)
    program = load_program(str(source), parameters={"n": 9})
    schedule, options = original_schedule(program.scop), ExportOptions(name="move_bodies")
    export = prepare_export(program, schedule, DEFAULT_MAPPING, options)
    write_export(export, ExportKind.PYTHON, tmp_path / "out", GCC)
    swapped = [*_FIELDS[:2], ("at", [("y", "f8"), ("x", "f8")]), _FIELDS[3]]
    narrow = [*_FIELDS[:3], ("w", "f4", 6)]
    layouts = [
        (_FIELDS, "expected structures of 48 bytes"),
        (swapped, "expected at.y of float64 at byte 16"),
        (narrow, "expected w[0] of float64 at byte 24"),
    ]
    code = """
import numpy as np, move_bodies
bodies = np.zeros(9, np.dtype(FIELDS, align=True))
bodies["w"], bodies["tag"], a = np.arange(27).reshape(9, 3), np.arange(9), np.arange(9.0)
move_bodies.move_bodies(9, bodies, a)
assert (bodies["at"]["y"] == (2 + 3 * a) * a).all()
assert (bodies["id"] == np.arange(9) - 8).all()
for fields, message in LAYOUTS:
    try:
        move_bodies.move_bodies(9, np.zeros(9, np.dtype(fields, align=fields != FIELDS)), a)
    except TypeError as error:
        assert message in str(error), error
    else:
        raise AssertionError(f"{fields} are taken")
""".replace("FIELDS", repr(_FIELDS)).replace("LAYOUTS", repr(layouts))
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path / "out", check=True)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (np.dtype(_FIELDS), "expected structures of 48 bytes"),
        (np.dtype([*_FIELDS[1::-1], *_FIELDS[2:]], align=True), "expected id of int32 at byte 4"),
        (np.dtype([*_FIELDS[:3], ("w", "f4", 6)], align=True), r"expected w\[0\] of float64"),
    ],
)
def test_other_layouts_are_refused(fields: np.dtype, message: str, tmp_path: Path) -> None:
    source = tmp_path / "move.c"
    source.write_text(_MOVE)
    function = polygym.compile(str(source), schedule="original")
    with pytest.raises(InputError, match=message):
        function(9, np.zeros(9, fields), np.zeros(9))


def test_members_of_structured_types() -> None:
    kind = np.dtype([("a", "i2"), ("b", [("c", "f4", (2, 3))], 4)], align=True)
    assert member_place(kind, ".b[1].c[1][2]") == (4 + 24 + 20, np.dtype("f4"))
    assert member_place(kind, ".b[1].d") is None
    assert member_place(kind, ".a[0]") is None


def test_single_members_have_no_rows(tmp_path: Path) -> None:
    source = tmp_path / "one.c"
    source.write_text(TYPES + "void f(body *b) { for (int k = 0; k < 3; k++) b->v[k] += b->x; }")
    program = load_program(str(source))
    assert {array.name for array in program.scop.arrays} == {"b_v", "b_x"}
    assert original_schedule(program.scop)
