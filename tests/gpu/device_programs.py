"""Device programs that are made by hand: outer loops that have no order as blocks and threads."""

from collections.abc import Sequence
from dataclasses import replace

from polygym.codegen.loopir.index_arithmetic import substitute_in
from polygym.codegen.loopir.ir import (
    Block,
    Guard,
    Index,
    IndexConstant,
    IndexOperator,
    IndexVariable,
    Instance,
    Loop,
    LoopProgram,
    Node,
)
from polygym.codegen.pipeline import lower
from polygym.frontend.c import parse_text
from polygym.gpu.device_program import (
    BLOCK_VARIABLES,
    THREAD_VARIABLES,
    Barrier,
    DeviceProgram,
    HostLoop,
    HostNode,
    Kernel,
    Launch,
    ThreadCode,
    UniformLoop,
)
from polygym.mapping.sizes import Sizes
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule

ONE = IndexConstant(1)

SCALED_SUM = """
void f(int n, float x[n], float y[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    y[i] = y[i] + 2.0f * x[i];
#pragma endscop
}
"""
PRODUCT = """
void f(int n, int m, int p, float A[n][p], float B[p][m], float C[n][m]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      C[i][j] = 0.0f;
      for (int k = 0; k < p; k++)
        C[i][j] += A[i][k] * B[k][j];
    }
#pragma endscop
}
"""
STEPS = """
void f(int steps, int n, double a[n], double b[n]) {
#pragma scop
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < n - 1; i++)
      b[i] = (a[i - 1] + a[i] + a[i + 1]) / 3.0;
    for (int i = 1; i < n - 1; i++)
      a[i] = b[i];
  }
#pragma endscop
}
"""
HISTOGRAM = """
void f(int n, int m, int k[n], float w[n], float sums[m]) {
#pragma scop
  for (int i = 0; i < n; i++)
    sums[k[i]] += w[i];
#pragma endscop
}
"""
MATH = """
#include <math.h>
void f(int n, float x[n], double y[n], float z[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    z[i] = tanhf(x[i]) + expf(x[i]) / sqrtf(x[i]);
    y[i] = fmax(sin(y[i]), 0.5) * y[i] + pow(y[i], 3.0) / 7.0;
  }
#pragma endscop
}
"""
PROGRAMS = {
    "scaled_sum": (SCALED_SUM, 1),
    "product": (PRODUCT, 2),
    "steps": (STEPS, 1),
    "histogram": (HISTOGRAM, 1),
    "math": (MATH, 1),
}
"""Sources, and how many loops of each run at once."""


def loops_of(source: str, sizes: Sizes | None = None) -> LoopProgram:
    """Return the loops of a C program in its own order."""
    scop = parse_text(source)
    return lower(LegalSchedule(scop, original_schedule(scop)), sizes=sizes)


def device_program(
    program: LoopProgram, parallel: int, block: Sequence[int] = (16, 8), atomic: bool = False
) -> DeviceProgram:
    """Return a program of which so many outer loops are blocks and threads, x the innermost.

    Loops around several others run on the host. Nobody looks at dependences here.
    """
    statements = frozenset(own.name for own in program.scop.statements) if atomic else frozenset()
    kernels: list[Kernel] = []

    def host(node: Node) -> tuple[HostNode, ...]:
        if isinstance(node, Block):
            return tuple(part for child in node.children for part in host(child))
        assert isinstance(node, Loop)
        if isinstance(node.body, Block) and all(
            isinstance(own, Loop) for own in node.body.children
        ):
            body = host(node.body)
            return (HostLoop(node.variable, node.lower, node.upper, node.step, body),)
        kernel = replace(
            _kernel(node, parallel, block), name=f"kernel{len(kernels)}", atomic=statements
        )
        kernels.append(kernel)
        return (Launch(kernel),)

    return DeviceProgram(program, host(program.body))


def _kernel(node: Node, parallel: int, block: Sequence[int]) -> Kernel:
    loops: list[Loop] = []
    while len(loops) < parallel:
        assert isinstance(node, Loop)
        assert node.step == 1
        loops.append(node)
        node = node.body
    grid: list[Index] = [ONE] * 3
    threads = [1] * 3
    for axis, loop in enumerate(reversed(loops)):
        size = IndexConstant(block[axis])
        place = IndexOperator.ADD(
            IndexOperator.MULTIPLY(size, IndexVariable(BLOCK_VARIABLES[axis])),
            IndexVariable(THREAD_VARIABLES[axis]),
        )
        value: Index = IndexOperator.ADD(loop.lower, place)
        node = substitute_in(node, {loop.variable: value})
        node = Guard(IndexOperator.LESS_EQUAL(value, loop.upper), node, None)
        count = IndexOperator.ADD(IndexOperator.SUBTRACT(loop.upper, loop.lower), size)
        grid[axis] = IndexOperator.DIVIDE_FLOOR(count, size)
        threads[axis] = block[axis]
    return Kernel(
        "kernel",
        (grid[0], grid[1], grid[2]),
        (threads[0], threads[1], threads[2]),
        (ThreadCode(node),),
    )


_TILED = """
void f(int n, int m, int p, float A[n][p], float B[p][m], float C[n][m],
       float As[16][16], float Bs[16][16], float sums[2]) {
#pragma scop
  for (int r = 0; r < 2; r++)
    sums[r] = 0.0f;
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 16; j++)
      As[i][j] = A[i][j];
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 16; j++)
      Bs[i][j] = B[i][j];
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 16; j++)
      for (int r = 0; r < 2; r++)
        sums[r] += As[i][j] * Bs[i][j];
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 16; j++)
      C[i][j] = sums[0];
#pragma endscop
}
"""


def tiled_product(sizes: Sizes) -> DeviceProgram:
    """Return a product in tiles of 16 by 16; a thread of the 16 by 8 has two rows of a tile.

    Sizes are multiples of 16. The source gives the statements alone: where they run is given here.
    """
    program = loops_of(_TILED, sizes)
    clear, copy_a, copy_b, add, store = (own.name for own in program.scop.statements)
    x, y, k0, k, r = map(IndexVariable, ("thread.x", "thread.y", "k0", "k", "r"))
    block_x, block_y = map(IndexVariable, ("block.x", "block.y"))
    rows = IndexOperator.ADD(y, IndexOperator.MULTIPLY(IndexConstant(8), r))

    def shifted(begin: Index, index: Index) -> Index:
        return IndexOperator.ADD(IndexOperator.MULTIPLY(IndexConstant(16), begin), index)

    def instance(
        name: str, write: Sequence[Index], *reads: Sequence[Index], count: int
    ) -> Instance:
        zeros = (IndexConstant(0),) * count
        return Instance(name, zeros, tuple(write), tuple(map(tuple, reads)))

    def both_rows(node: Node) -> Loop:
        return Loop("r", IndexConstant(0), ONE, 1, node)

    zero, fifteen = IndexConstant(0), IndexConstant(15)
    row, column = shifted(block_y, rows), shifted(block_x, x)
    sum_up = instance(add, (r,), (r,), (rows, k), (k, x), count=3)
    tile = (
        ThreadCode(
            both_rows(
                Block(
                    (
                        instance(copy_a, (rows, x), (row, shifted(k0, x)), count=2),
                        instance(copy_b, (rows, x), (shifted(k0, rows), column), count=2),
                    )
                )
            )
        ),
        Barrier(),
        ThreadCode(Loop("k", zero, fifteen, 1, both_rows(sum_up))),
        Barrier(),
    )
    last = IndexOperator.SUBTRACT(
        IndexOperator.DIVIDE_FLOOR(IndexVariable("p"), IndexConstant(16)), ONE
    )
    body = (
        ThreadCode(both_rows(instance(clear, (r,), count=1))),
        UniformLoop("k0", zero, last, 1, tile),
        ThreadCode(both_rows(instance(store, (row, column), (r,), count=2))),
    )
    grid = tuple(
        IndexOperator.DIVIDE_FLOOR(IndexVariable(size), IndexConstant(16)) for size in ("m", "n")
    )
    kernel = Kernel("tiled", (*grid, ONE), (16, 8, 1), body, shared=("As", "Bs"), local=("sums",))
    return DeviceProgram(program, (Launch(kernel),))
