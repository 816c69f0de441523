"""Whose value each read sees, what is read before and what is left: compared with brute force."""

import islpy as isl
import pytest

from polygym.errors import InputError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.transform.storage.webs import live_out_writers, reads_of, webs_of
from tests.oracles.instances import Element, Instance, pairs, trace
from tests.poly.transform.storage.random_plans import scop_of

PROGRAMS = (
    "live_before",
    "live_after",
    "conditional",
    "loops_that_may_not_run",
    "behind_loops_that_do_not_run",
    "between_nests",
    "row_used_again",
    "two_recurrences",
    "strided_and_shared",
    "triangular_guarded",
    "reads_that_never_happen",
)


def elements(relation: str, domain: str, sizes: dict[str, int]) -> dict[tuple[int, ...], object]:
    run = isl.Map(relation).intersect_domain(isl.Set(domain))
    return dict(pairs(run, sizes))


def by_force(scop: Scop, sizes: dict[str, int]) -> tuple[dict, dict[Element, Instance]]:
    """Run a program by hand: what each read of each instance sees, and who wrote what last.

    What is seen is the writing instance, or the element itself where nothing has written it.
    """
    run = trace(scop, original_schedule(scop), sizes)
    last: dict[Element, Instance] = {}
    seen: dict = {}
    where = {
        (statement.name, access): elements(access.relation, statement.domain, sizes)
        for statement in scop.statements
        for access in (statement.write, *statement.reads)
    }
    for name, point in run.order:
        statement = scop.statement(name)
        for access in dict.fromkeys(statement.reads):
            if point not in where[name, access]:
                continue
            element = (access.array, where[name, access][point])
            seen.setdefault((name, access), {})[point] = last.get(element, element)
        last[statement.write.array, where[name, statement.write][point]] = (name, point)
    return seen, last


def at_sizes(relation: isl.UnionMap, sizes: dict[str, int]) -> set:
    result: set = set()

    def visit(part: isl.Map) -> None:
        names = part.get_tuple_name(isl.dim_type.in_), part.get_tuple_name(isl.dim_type.out)
        result.update(((names[0], a), (names[1], b)) for a, b in pairs(part, sizes))

    relation.foreach_map(visit)
    return result


@pytest.mark.parametrize("name", PROGRAMS)
def test_sources_and_what_is_left(name: str) -> None:
    scop = scop_of(name)
    sizes = {parameter.name: 4 + place for place, parameter in enumerate(scop.parameters)}
    seen, last = by_force(scop, sizes)
    for array in dict.fromkeys(statement.write.array for statement in scop.statements):
        for read in reads_of(scop, array):
            expected = {
                ((read.statement, point), source)
                for point, source in seen.get((read.statement, read.access), {}).items()
            }
            flows = {(r, w) for w, r in at_sizes(read.sources, sizes)}
            assert flows | at_sizes(read.initial, sizes) == expected
        left = {(writer, element) for element, writer in last.items() if element[0] == array}
        assert at_sizes(live_out_writers(scop, array), sizes) == left


def test_values_that_no_read_sees_together_are_webs_of_their_own() -> None:
    scop = scop_of("two_recurrences")
    assert [sorted(web.names) for web in webs_of(scop, "a")] == [["S0", "S4"], ["S5", "S9"]]
    (web,) = webs_of(scop_of("live_before"), "s")
    assert web.is_live_in
    assert not webs_of(scop, "a")[0].is_live_in


def test_an_array_that_is_read_at_computed_subscripts_has_no_webs() -> None:
    scop = parse_text("""
void f(int n, double A[n], int I[n], double y[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    A[i] = A[I[i]] + y[i];
#pragma endscop
}
""")
    with pytest.raises(InputError, match=r"A is read at a computed subscript, A\[I\[i\]\]"):
        webs_of(scop, "A")
