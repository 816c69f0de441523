"""Traffic of large private arrays."""

from __future__ import annotations

import pytest

from polygym.codegen.pipeline import lower
from polygym.cost.machine_code.private_traffic import PrivateTraffic, private_traffic
from polygym.frontend.c import parse_text
from polygym.mapping.mapping import parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.transform.storage.apply import apply_plan
from polygym.poly.transform.storage.plan import parse_storage

LAYERS = """
void f(int k, int n, double in[k][n], double out[k][n]) {
  double w[n];
#pragma scop
  for (int l = 0; l < k; l++) {
    for (int i = 0; i < n; i++)
      w[i] = 2.0 * in[l][i];
    for (int i = 0; i < n; i++)
      out[l][i] = w[i] + w[n - 1 - i];
  }
#pragma endscop
}
"""


@pytest.mark.parametrize(
    ("n", "threads", "expected"),
    [
        (30_000, 2, (0, 0)),  # 240 KB lie on the stack
        (60_000, 2, (0, 0)),  # 480 KB fit in the level 2 cache
        (100_000, 2, (1, 0)),
        (3_000_000, 1, (1, 0)),
        (3_000_000, 2, (1, 1)),
    ],
)
def test_traffic_by_size(n: int, threads: int, expected: tuple[int, int]) -> None:
    scop = apply_plan(parse_text(LAYERS), parse_storage("w=private:l"))
    legal = LegalSchedule(scop, original_schedule(scop))
    mapping = parse_mapping("threads=2 parallel=static tile=off vector_bits=off unroll_jam=1")
    loops = lower(legal, mapping, {"k": 4, "n": n})
    instances = {statement.name: 4 * n for statement in scop.statements}
    moved = 2 * 4 * n * 8
    shared, memory = (float(moved * times) for times in expected)
    assert private_traffic(loops, instances, threads) == PrivateTraffic(shared, memory)
