"""Overlapped tiles: strips whose edges run twice compute what passes over whole images compute."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.codegen.pipeline import lower
from polygym.errors import InputError
from polygym.frontend.c import parse_text
from polygym.ir.scop import StorageClass
from polygym.mapping.mapping import parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.transform.storage import overlapped_tiles
from polygym.poly.transform.storage.apply import apply_plan
from polygym.poly.transform.storage.overlapped_tiles import temporary_rows, with_overlapped_tiles
from polygym.poly.transform.storage.plan import parse_storage
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_loops
from tests.oracles.threads import every_loop_shared

M = 6


def passes(reads: list[tuple[int, int]], first: tuple[int, int], *, direct: bool) -> str:
    """Return a program of two temporaries: b reads a, c reads b and d reads c, at given rows."""
    (b_low, b_high), (c_low, c_high) = reads
    extra = f" + b[i + {first[0]}][j]" if direct else ""
    return f"""
void f(int n, double a[n + 20][{M}], double d[n + 20][{M}]) {{
  double b[n + 20][{M}], c[n + 20][{M}], s;
#pragma scop
  for (int i = {first[0]}; i < n + {first[1]}; i++)
    for (int j = 0; j < {M}; j++)
      b[i][j] = a[i][j] * 0.5 + a[i + 1][j];
  for (int i = 4; i < n + 4; i++)
    for (int j = 1; j < {M}; j++) {{
      s = b[i + {b_low}][j] - b[i + {b_high}][j - 1];
      c[i][j] = s * s;
    }}
  for (int i = 7; i < n + 1; i++)
    for (int j = 1; j < {M}; j++)
      d[i][j] = c[i + {c_low}][j] + 0.25 * c[i + {c_high}][j]{extra};
#pragma endscop
}}
"""


BLUR = passes([(-1, 1), (-2, 1)], (2, 6), direct=False)
PRIVATE = "b=private:tile c=private:tile s=private:tile,i,j"


def check(text: str, plan: str, mapping: str, n: int) -> None:
    """Compare a program under a plan with the source, bit for bit."""
    scop = parse_text(text)
    stored = apply_plan(scop, parse_storage(plan))
    legal = LegalSchedule(stored, original_schedule(stored))
    loops = lower(legal, parse_mapping(mapping), {"n": n})
    assert loops.privatization_failures == ()
    private = [a.name for a in loops.scop.arrays if a.storage_class is StorageClass.PRIVATE]
    assert len(private) == plan.count("private")
    arrays = random_arrays(scop, {"n": n}, np.random.default_rng(5))
    expected = {name: array.copy() for name, array in arrays.items()}
    run_in_order(scop, {"n": n}, expected)
    with every_loop_shared() as forks:
        run_loops(loops, {"n": n}, arrays, is_watched=True)
    assert not forks.asked or set(forks.asked) == {3}
    assert arrays["d"].tobytes() == expected["d"].tobytes()


THREADS = "threads=3 parallel=dynamic tile=off vector_bits=off unroll_jam=1"


@pytest.mark.parametrize(("tile", "mapping"), [(17, THREADS), (4, "threads=3 tile=off")])
def test_values_are_those_of_the_source(tile: int, mapping: str) -> None:
    check(BLUR, f"overlap:{tile} {PRIVATE}", mapping, 37)


@settings(max_examples=2, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), min_size=2, max_size=2),
    st.integers(1, 9),
    st.integers(8, 30),
    st.booleans(),
)
def test_random_passes(reads: list[tuple[int, int]], tile: int, n: int, direct: bool) -> None:
    check(passes(reads, (2, 6), direct=direct), f"overlap:{tile} {PRIVATE}", THREADS, n)


def test_rows_run_as_often_as_they_are_needed() -> None:
    tiled = with_overlapped_tiles(parse_text(BLUR), 8)
    domains = {statement.write.array: statement.domain for statement in tiled.statements}
    assert "8tile" in domains["d"]
    assert tiled.statement("S0").iterators == ("tile", "i", "j")
    assert temporary_rows(parse_text(BLUR)) == ("b", "c")
    # c is read two rows before and one row after, b one more on each side.
    assert overlapped_tiles._halos(
        parse_text(BLUR), tuple(overlapped_tiles._passes(parse_text(BLUR)))
    ) == {"S0": (3, 2), "S1": (2, 1), "S2": (2, 1), "S3": (0, 0)}


@pytest.mark.parametrize("halo", [(2, 2), (3, 1)])
def test_the_proof_refuses_edges_that_are_too_small(halo: tuple[int, int]) -> None:
    halos = {"S0": halo, "S1": (2, 1), "S2": (2, 1), "S3": (0, 0)}
    with (
        patch.object(overlapped_tiles, "_halos", lambda *_: halos),
        pytest.raises(InputError, match="see the values of b"),
    ):
        with_overlapped_tiles(parse_text(BLUR), 7)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("double b[n + 20][6], c[", "double c["), "observable arrays that no other tile reads"),
        (("c[i][j] = s * s", "c[i][j] = i > 4 ? c[i - 1][j] : s"), "without a flow between"),
        (("c[i + -2][j]", "c[n + 7 - i][j]"), "distances that have bounds"),
        (("for (int i = 7; i < n + 1; i++)", "for (int i = n; i >= 7; i--)"), "counts upwards"),
    ],
)
def test_refusals(change: tuple[str, str], reason: str) -> None:
    text = BLUR.replace(*change)
    if "double b" in change[0]:
        text = text.replace("double d[n + 20][6])", "double d[n + 20][6], double b[n + 20][6])")
    assert text != BLUR
    with pytest.raises(InputError, match=reason):
        with_overlapped_tiles(parse_text(text), 8)


def test_one_pass_has_no_tiles() -> None:
    text = """
void f(int n, double a[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    a[i] = 2.0 * a[i];
#pragma endscop
}
"""
    with pytest.raises(InputError, match="two loops or more"):
        with_overlapped_tiles(parse_text(text), 8)


def test_a_plan_prints_and_parses() -> None:
    for text in ("overlap:16", f"overlap:32 {PRIVATE}", "keep overlap:8"):
        plan = parse_storage(text)
        assert parse_storage(str(plan)) == plan
        assert not plan.is_source
    assert parse_storage("overlap:8 keep").is_source
    for wrong in ("overlap:0", "overlap:x", "overlap"):
        with pytest.raises(InputError):
            parse_storage(wrong)
