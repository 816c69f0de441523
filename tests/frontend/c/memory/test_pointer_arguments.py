"""Pointers that a region does not set: arrays of their own, one array, or refused."""

from __future__ import annotations

import pytest

from polygym.errors import InputError, SourceError
from polygym.frontend.c import parse_text
from polygym.frontend.c.memory.pointer_flow import PointerFlow

_FILE = """
struct grid { int n; double *u, *v; double **rows; };
struct outer { struct grid inner; struct grid *far; };
double *left, *right;
double buffer[100], total;
double *choose(struct grid *);
void watch(struct grid *);
static void look(struct grid *g) { g->n = g->n + 0; }
static void exchange(struct grid *g) { double *h = g->u; g->u = g->v; g->v = h; }
static double *fresh(int n) { double *p = malloc(n * sizeof(double)); return p; }
"""


def arrays_of(
    body: str, arguments: str = "struct grid *g, int n, double *a, double *b", *more: str
):
    """Return the names of the arrays of a function's region, in order of their names."""
    region = body if "#pragma" in body else _region(body)
    text = f"{_FILE}void f({arguments}) {{ {region} }}"
    scop = parse_text(text, file="f.c", function=" ".join(["f", *more]))
    return sorted(array.name for array in scop.arrays)


def _region(body: str) -> str:
    before, _, last = body.rpartition(";;")
    return f"{before};\n#pragma scop\n  for (int i = 1; i < n; i++) {last};\n#pragma endscop\n"


_SAME = {
    "both set to an argument": ("double *p, *q; p = a; q = a", "p[i] = q[i - 1]", ["a"]),
    "one set to the other": ("double *p = choose(g); double *q = p", "p[i] = q[i - 1]", ["p"]),
    "both set to a member": ("double *p = g->u, *q = g->u", "p[i] = q[i - 1]", ["q"]),
    "a member and a copy of it": ("double *p = g->u", "p[i] = g->u[i - 1]", ["g_u"]),
    "an address of the first element": (
        "double *p = choose(g), *q = &p[0]", "p[i] = q[i - 1]", ["p"],
    ),
    "an offset": ("double *p = choose(g), *q = p + n", "p[i] = q[i - 1]", ["p"]),
    "one after the other in time": (
        "double *p = b, *q; p = a; q = p", "p[i] = q[i - 1]", ["a"],
    ),
    "set in both branches": (
        "double *p, *q; if (n > 3) p = q = a; else p = q = b", "p[i] = q[i - 1]", ["p"],
    ),
    "stored and loaded": ("double *p = fresh(n); g->u = p", "p[i] = g->u[i - 1]", ["g_u"]),
    "a function that sets no member": (
        "double *p = g->u; look(g)", "p[i] = g->u[i - 1]", ["g_u"],
    ),
    "a function of the library": (
        'double *p = g->u; printf("%d", n)', "p[i] = g->u[i - 1]", ["g_u"],
    ),
    "one structure by two names": (
        "struct grid *h = g", "h->u[i] = g->u[i - 1]", ["h_u"],
    ),
    "stepping together": (
        "double *p = choose(g), *q = p; for (int t = 0; t < n; t++) { p++; q++; }",
        "p[i] = q[i - 1]",
        ["p"],
    ),
    "a swap and its way back": (
        "double *p = g->u, *q = g->v, *h; h = p; p = q; q = h; h = p; p = q; q = h",
        "p[i] = g->u[i - 1]",
        ["g_u"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _SAME)
def test_pointers_that_are_the_same_are_one_array(name: str) -> None:
    before, statement, expected = _SAME[name]
    found = arrays_of(f"{before};;{statement}")
    assert len(found) == len(expected), found


_OWN = {
    "members": ("", "g->u[i] = g->v[i - 1]", ["g_u", "g_v"]),
    "file scope": ("", "left[i] = right[i - 1]", ["left", "right"]),
    "results": ("double *p = fresh(n), *q = fresh(n)", "p[i] = q[i - 1]", ["p", "q"]),
    "opposite choices": (
        "double *p = n > 3 ? a : b; double *q = n > 3 ? b : a", "p[i] = q[i - 1]", ["p", "q"],
    ),
    "opposite branches": (
        "double *p, *q; if (n > 3) { p = a; q = b; } else { p = b; q = a; }",
        "p[i] = q[i - 1]",
        ["p", "q"],
    ),
    "a swap": ("double *p = a, *q = b, *h; h = p; p = q; q = h", "p[i] = q[i - 1]", ["a", "b"]),
    "only read": ("double *p = n > 3 ? a : b", "g->u[i] = p[i] + a[i]", ["a", "g_u", "p"]),
    "a member that a function exchanges, alone": (
        "exchange(g)", "g->u[i] = g->v[i - 1]", ["g_u", "g_v"],
    ),
    "restrict": (
        "double *restrict p = choose(g), *q = n > 3 ? p : b", "p[i] = q[i - 1]", ["p", "q"],
    ),
    "rows": ("", "g->rows[i][0] = g->rows[i - 1][0]", ["g_rows"]),
}  # fmt: skip


@pytest.mark.parametrize("name", _OWN)
def test_pointers_of_which_nothing_says_that_they_meet_are_arrays_of_their_own(name: str) -> None:
    before, statement, expected = _OWN[name]
    assert arrays_of(f"{before};;{statement}") == expected


_SWAPPED = """
  double *p = a, *q = b, *h;
  for (int t = 0; t < n; t++) {{
    {before}
#pragma scop
    for (int i = 1; i < n; i++) p[i] = q[i - 1];
#pragma endscop
    {after}
  }}
"""


def test_pointers_that_a_loop_swaps_are_two_arrays() -> None:
    body = _SWAPPED.format(before="", after="h = p; p = q; q = h;")
    assert arrays_of(body) == ["p", "q"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "h = p; p = q; q = p;"),
        ("", "if (t > 2) p = q;"),
        ("p = t % 2 ? a : b; q = t % 3 ? b : a;", ""),
        ("if (t > 0) p = h; h = q;", ""),
        ("", "if (t == 5) break; p = q;"),
        ("", "if (t == 5) continue; p = q;"),
    ],
)
def test_a_loop_after_which_two_pointers_may_be_the_same(before: str, after: str) -> None:
    with pytest.raises(SourceError, match="may point into the same array"):
        arrays_of(_SWAPPED.format(before=before, after=after))


_REFUSED = {
    "one of two": ("double *p = n > 3 ? a : b", "p[i] = a[i - 1]", "may point into the same"),
    "a member that a function exchanges": (
        "double *p = g->u; exchange(g)", "p[i] = g->v[i - 1] + g->u[i]", "may point into the same",
    ),
    "a function without a body": (
        "double *p = g->u; watch(g)", "p[i] = g->u[i - 1]", "may point into the same",
    ),
    "results of one structure": (
        "double *p = choose(g), *q = choose(g)", "p[i] = q[i - 1]", "may point into the same",
    ),
    "an offset that has changed": (
        "double *p = choose(g); double *q = p + n; n = n - 1",
        "p[i] = q[i - 1]",
        "at places that are not known",
    ),
    "two types": (
        "double *p = choose(g); long *q = (long *)p", "p[i] = q[i - 1]", "two types",
    ),
    "into an array": (
        "double *p; if (n > 3) p = buffer; else p = a", "p[i] = buffer[i - 1]", "may point into",
    ),
    "a goto back": (
        "double *p = a, *q = b; again: if (n > 3) { p = q; n--; goto again; }",
        "p[i] = q[i - 1]",
        "may point into the same|goto leads back",
    ),
    "a question about memory that changes": (
        "int flag[1]; double *p = *flag ? a : b; *flag = 0; double *q = *flag ? b : a",
        "p[i] = q[i - 1]",
        "may point into the same",
    ),
    "an offset that is set by its address": (
        "int k = 1, *at = &k; double *p = g->u + k; *at = 2",
        "p[i] = g->u[i + k]",
        "at places that are not known",
    ),
    "a member that is set by its address": (
        "int *at = &g->n; double *p = g->u + g->n; *at = 2",
        "p[i] = g->u[i + g->n]",
        "at places that are not known",
    ),
    "a variable and a pointer to it": (
        "double s = 0, *at = &s", "{ *at += b[i]; a[i] = s; }", "at may point to s",
    ),
    "a variable that is set by its name": (
        "double s = 0, *at = &s", "{ s += b[i]; a[i] = *at; }", "at may point to s",
    ),
    "a variable at file scope, in one of two branches": (
        "double *at = n > 3 ? &total : b", "{ *at += a[i]; a[i] = total; }", "point to total",
    ),
    "a size by its name and its address": (
        "int *at = &g->n", "{ *at = 5; a[i % g->n] = 1; }", "may point to g->n",
    ),
    "a pointer and a pointer to it": (
        "double *p = a, **at = &p", "p[i] = (*at)[i - 1]", "may point to p",
    ),
    "a swap half way": (
        "double *p = g->u, *q = g->v; if (n > 3) { p = g->v; }", "p[i] = q[i - 1]", "may point",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _REFUSED)
def test_pointers_that_may_be_the_same_are_refused(name: str) -> None:
    before, statement, message = _REFUSED[name]
    with pytest.raises(SourceError, match=message):
        arrays_of(f"{before};;{statement}")


def test_a_pointer_is_the_only_name_of_its_variable() -> None:
    assert arrays_of("double s = 0, *at = &s;;*at += a[i]") == ["a", "at"]
    assert arrays_of("double s = 3, *at = &s;;a[i] = *at * s") == ["a", "at", "s"]


def test_a_stated_alias_makes_two_pointers_one_array() -> None:
    body = "double *p = n > 3 ? a : b;;p[i] = a[i - 1]"
    arguments = "struct grid *g, int n, double *a, double *b"
    assert arrays_of(body, arguments, "p=a") == ["a"]
    assert arrays_of(";;g->u[i] = g->v[i - 1]", arguments, "g->u=g->v") == ["g_v"]
    assert arrays_of(";;a[i] = b[i - 1]", arguments, "a=b") == ["b"]


def test_a_stated_alias_names_pointers_of_the_region() -> None:
    arguments = "struct grid *g, int n, double *a, double *b"
    with pytest.raises(InputError, match="expected pointers of the region, a, b, found c"):
        arrays_of(";;a[i] = b[i - 1]", arguments, "a=c")


def test_memory_is_as_large_as_it_was_allocated_where_the_region_does_not_say_it() -> None:
    text = """
    #include <stdlib.h>
    void f(int n, int m, const int *key) {
      int *count;
      count = calloc((size_t) m + 2, sizeof *count);
    #pragma scop
      for (int i = 0; i < n; i++)
        count[key[i]]++;
    #pragma endscop
      use(count);
    }
    """
    (count,) = [array for array in parse_text(text).arrays if array.name == "count"]
    assert count.c_extents == ("m + 2",)


def test_arrays_of_other_files_are_as_large_as_the_region_needs() -> None:
    text = """
    extern int counts[];
    extern float rows[][4];
    extern double known[];
    double known[12];
    void f(int n) {
    #pragma scop
      for (int i = 0; i < n; i++) { counts[i + 1] = i; rows[i][2] = known[i]; }
    #pragma endscop
    }"""
    scop = parse_text(text, file="f.c")
    extents = {array.name: array.c_extents for array in scop.arrays}
    assert extents == {"counts": ("n + 1",), "rows": ("n", "4"), "known": ("12",)}


def test_loops_in_loops_take_few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = []
    iteration = PointerFlow._iteration
    monkeypatch.setattr(
        PointerFlow, "_iteration", lambda *given: rounds.append(1) or iteration(*given)
    )
    loops = "".join(f"for (int {c} = 0; {c} < n; {c}++) " for c in "cdehijkl")
    around = f"double *p, *q; {loops}{{ p = choose(g); p++; q = p; p = q + c; }} p = a; q = b"
    assert arrays_of(around + ";;p[i] = q[i - 1]") == ["a", "b"]
    assert len(rounds) < 300  # 3^8 are 6561
